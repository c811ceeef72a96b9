defmodule Main do
  def run("echo " <> text), do: IO.puts("é " <> text)
  def run("exit"), do: System.halt(3)
  def run("crash"), do: raise("no")
  def run("spin"), do: run("spin")
  def run("memory"), do: hold([])
  def run(_), do: :ok

  defp hold(held), do: hold([:binary.copy(<<1>>, 1_048_576) | held])
end

IO.gets("") |> String.trim() |> Main.run()

object Main {
  def main(args: Array[String]): Unit = {
    val line = scala.io.StdIn.readLine()
    if (line.startsWith("echo ")) println("é " + line.substring(5))
    if (line == "exit") sys.exit(3)
    if (line == "crash") throw new IllegalStateException("no")
    while (line == "spin") {}
    var held = List.empty[Array[Byte]]
    while (line == "memory") held = Array.fill(1 << 20)(1: Byte) :: held
  }
}

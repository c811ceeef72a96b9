line = gets.chomp
case line
when /\Aecho (.*)/ then puts "é #{$1}"
when "exit" then exit 3
when "crash" then raise "no"
when "spin" then loop {}
when "memory"
  held = []
  loop { held << "x" * (1 << 20) }
end

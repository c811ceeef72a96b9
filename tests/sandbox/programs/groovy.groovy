def line = System.in.newReader().readLine()
if (line.startsWith('echo ')) println "é ${line.substring(5)}"
if (line == 'exit') System.exit(3)
if (line == 'crash') throw new IllegalStateException('no')
while (line == 'spin') { }
def held = []
while (line == 'memory') { def more = new byte[1 << 20]; Arrays.fill(more, (byte) 1); held << more }

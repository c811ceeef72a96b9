fun main() {
    val line = readLine()!!
    if (line.startsWith("echo ")) println("é " + line.substring(5))
    if (line == "exit") System.exit(3)
    if (line == "crash") throw IllegalStateException("no")
    while (line == "spin") { }
    val held = ArrayList<ByteArray>()
    while (line == "memory") held.add(ByteArray(1 shl 20) { 1 })
}

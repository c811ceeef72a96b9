line = require('fs').readFileSync(0, 'utf8').split('\n')[0]
held = []
if line.startsWith 'echo ' then console.log "é #{line.slice 5}"
if line is 'exit' then process.exit 3
if line is 'crash' then throw new Error 'no'
loop break if line isnt 'spin'
while line is 'memory'
  held.push Buffer.alloc(1 << 20, 1)

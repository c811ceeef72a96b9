import { readFileSync } from "fs";

const line = readFileSync(0, "utf8").split("\n")[0];
if (line.startsWith('echo ')) console.log('é ' + line.slice(5));
else if (line === 'exit') process.exit(3);
else if (line === 'crash') throw new Error('no');
else if (line === 'spin') while (true);
else if (line === 'memory') for (const held = []; ; ) held.push(Buffer.alloc(1 << 20, 1));

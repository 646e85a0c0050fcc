// npm install utp@0.0.10 && node reproduce.js: a relay repeats one packet of data, and the stream has wrong bytes.
const dgram = require('dgram'), utp = require('utp')
let told = 0, received = 0
utp.createServer(socket => socket.on('data', data => {
  for (const byte of data) {
    const expected = Math.floor(received / 4) >> (8 * (received % 4)) & 255 // 32-bit numbers 0, 1, 2...
    if (byte !== expected && !told++) console.log(`wrong byte at offset ${received}`)
    received++
  }
})).listen(5001)
const relay = dgram.createSocket('udp4'), away = dgram.createSocket('udp4')
let sender, repeated = false
relay.bind(5000).on('message', (packet, from) => {
  sender = from.port
  away.send(packet, 5001)
  const data = packet[0] >> 4 === 0 && packet.length > 100
  if (data && packet.readUInt16BE(16) > 10 && !repeated && (repeated = true)) away.send(packet, 5001)
})
away.bind(5002).on('message', packet => relay.send(packet, sender))
const client = utp.connect(5000), numbers = Buffer.alloc(4e6)
for (let n = 0; n < 1e6; n++) numbers.writeUInt32LE(n, 4 * n)
client.on('connect', () => client.write(numbers))
setTimeout(() => { console.log(`${received} bytes arrived`); process.exit(told ? 1 : 0) }, 8000)

# /// script
# dependencies = ["aioquic"]
# ///
"""A megabyte by QUIC over a link that loses 1 % of the packets, and how long it takes."""

import sys
import time

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

SERVER = '''
import asyncio, sys
from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration

configuration = QuicConfiguration(is_client=False, alpn_protocols=["lab"])
configuration.load_cert_chain("cert.pem", "key.pem")

async def answer(reader, writer):
    size = int((await reader.readline()).decode())
    writer.write(b"x" * size)
    writer.write_eof()

async def main():
    await serve("0.0.0.0", 4433, configuration=configuration,
                stream_handler=lambda r, w: asyncio.ensure_future(answer(r, w)))
    await asyncio.Future()

asyncio.run(main())
'''

CLIENT = '''
import asyncio, ssl, sys, time
from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration

async def main():
    configuration = QuicConfiguration(alpn_protocols=["lab"], verify_mode=ssl.CERT_NONE)
    start = time.time()
    async with connect(sys.argv[1], 4433, configuration=configuration) as connection:
        print("handshake %.3f s" % (time.time() - start))
        reader, writer = await connection.create_stream()
        writer.write(b"1000000\\n")
        data = await reader.read()
    print("%d bytes in %.2f s" % (len(data), time.time() - start))

asyncio.run(main())
'''


def main():
    net = Mininet(SingleSwitchTopo(2), link=TCLink)
    net.start()
    server, client = net.hosts
    for host in net.hosts:
        host.cmd(f"tc qdisc replace dev {host.defaultIntf()} root netem delay 25ms loss 1% rate 10mbit")
    open("server.py", "w").write(SERVER)
    open("client.py", "w").write(CLIENT)
    server.cmd("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 9000 -subj /CN=lab")
    server.cmd("python3 server.py > server.log 2>&1 &")
    time.sleep(2)
    print(client.cmd("python3 client.py", server.IP()))
    print(open("server.log").read(), file=sys.stderr)
    net.stop()


if __name__ == "__main__":
    setLogLevel("info")
    main()

#!/usr/bin/env python3
"""delay_proxy.py PORT MS: listens on a new port, prints it, and forwards connections to PORT with a delay of MS milliseconds."""
import asyncio
import sys

PORT, DELAY = int(sys.argv[1]), int(sys.argv[2]) / 1000


async def carry(reader, writer):
    loop = asyncio.get_running_loop()
    while data := await reader.read(65536):
        loop.call_later(DELAY, writer.write, data)
    loop.call_later(DELAY, writer.close)


async def accept(reader, writer):
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", PORT)
    await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))


async def main():
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(f"port={server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())

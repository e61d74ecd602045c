"""narrow.py FILE.png: the right edge of a screenshot, 6 pixels wide, has one colour from top to bottom: nothing on the
page is wider than the screen."""
import struct
import sys
import zlib

data = open(sys.argv[1], "rb").read()
at, packed = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    if kind == b"IHDR":
        wide, high, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
    if kind == b"IDAT":
        packed += data[at + 8:at + 8 + size]
    at += 12 + size
assert depth == 8 and colour in (2, 6), (depth, colour)
step = 3 if colour == 2 else 4
stride, raw, row = wide * step, zlib.decompress(packed), bytearray(wide * step)
edge = set()
for y in range(high):
    kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    for x in range(stride):
        left = line[x - step] if x >= step else 0
        up, corner = row[x], row[x - step] if x >= step else 0
        guess = left + up - corner
        paeth = min((left, up, corner), key=lambda value: abs(guess - value))
        line[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
    row = line
    edge |= {bytes(row[x * step:x * step + 3]) for x in range(wide - 6, wide)}
assert len(edge) == 1, f"{sys.argv[1]}: {len(edge)} colours at the right edge"

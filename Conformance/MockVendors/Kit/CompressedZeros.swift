/// A zlib stream that expands to zeros at about 1 KiB per 1 MiB.
///
/// Hand-written (RFC 1950 and 1951), so that the server needs no compression library.
enum CompressedZeros {
    /// A stream that expands to `count` zero bytes, rounded up to a multiple of 258 plus one.
    static func stream(of count: Int) -> [UInt8] {
        let copies = max(0, (count - 1 + 257) / 258)
        var bits = BitWriter(bytes: [0x78, 0x01])
        // A single final block with dynamic codes. The longest copy (symbol 285: 258 bytes) and the distance of one
        // byte get the single-bit code 0, so that a copy costs two bits.
        bits.write(1, count: 1)
        bits.write(2, count: 2)
        bits.write(29, count: 5)  // 286 literal and length codes
        bits.write(0, count: 5)  // 1 distance code
        bits.write(14, count: 4)  // 18 code length codes, in the order that the format prescribes
        // Lengths of the code length codes for the symbols 18 (a run of zeros), 1 and 2.
        let lengths: [Int: Int] = [18: 1, 1: 2, 2: 2]
        for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1] {
            bits.write(lengths[symbol, default: 0], count: 3)
        }
        // Canonical codes: 18 → 0, 1 → 10, 2 → 11. Huffman codes are written from their most significant bit.
        func run(of zeros: Int) {
            bits.write(0, count: 1)
            bits.write(zeros - 11, count: 7)
        }
        func one() { bits.write(0b01, count: 2) }
        func two() { bits.write(0b11, count: 2) }
        two()  // literal 0 has a code of two bits
        run(of: 138)
        run(of: 117)  // 1 to 255 have none
        two()  // 256, the end, has two bits
        run(of: 28)  // 257 to 284 have none
        one()  // 285 has one bit
        one()  // the distance of one has one bit
        // Canonical codes now: 285 → 0, literal 0 → 10, the end → 11.
        bits.write(0b01, count: 2)
        bits.writeZeros(copies * 2)
        bits.write(0b11, count: 2)
        let length = copies * 258 + 1
        // Adler-32 of zeros: the first sum stays 1, the second counts the bytes.
        let sum = UInt32(truncatingIfNeeded: length % 65_521) << 16 | 1
        return bits.finish() + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
    }

    /// Writes bits, starting with the least significant bit of each byte.
    private struct BitWriter {
        var bytes: [UInt8]
        var current: UInt8 = 0
        var used = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func write(_ value: Int, count: Int) {
            for position in 0..<count {
                if value >> position & 1 == 1 { current |= 1 << UInt8(used) }
                advance()
            }
        }

        mutating func writeZeros(_ count: Int) {
            var rest = count
            while rest > 0, used != 0 {
                advance()
                rest -= 1
            }
            bytes.append(contentsOf: repeatElement(0, count: rest / 8))
            for _ in 0..<(rest % 8) { advance() }
        }

        mutating func finish() -> [UInt8] {
            while used != 0 { advance() }
            return bytes
        }

        private mutating func advance() {
            used += 1
            guard used == 8 else { return }
            bytes.append(current)
            current = 0
            used = 0
        }
    }
}

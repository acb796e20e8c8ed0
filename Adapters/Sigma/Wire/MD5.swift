import Foundation

/// MD5 by RFC 1321, on which the vendor's buckets are based; not for security.
///
/// A cryptography package would have it too, but takes longer to build than everything else together
/// (`docs/decisions/0124-own-md5.md`).
struct MD5 {
    private var a: UInt32 = 0x6745_2301
    private var b: UInt32 = 0xefcd_ab89
    private var c: UInt32 = 0x98ba_dcfe
    private var d: UInt32 = 0x1032_5476

    /// Computes the digest of bytes.
    init(of bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while bytes.count - start >= 64 {
                mix(UnsafeRawBufferPointer(rebasing: bytes[start..<start + 64]))
                start += 64
            }
            finish(UnsafeRawBufferPointer(rebasing: bytes[start...]), length: bytes.count)
        }
    }

    /// The first eight bytes of the digest as a big-endian number.
    var prefix: UInt64 { UInt64(a.byteSwapped) << 32 | UInt64(b.byteSwapped) }

    /// The digest in hexadecimal.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for word in [a, b, c, d] {
            for shift in [0, 8, 16, 24] as [UInt32] {
                text.append(digits[Int(word >> (shift + 4) & 15)])
                text.append(digits[Int(word >> shift & 15)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Processes the bytes after the last whole block, and the total length.
    private mutating func finish(_ rest: UnsafeRawBufferPointer, length: Int) {
        let size = rest.count < 56 ? 64 : 128
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { blocks in
            blocks.initializeMemory(as: UInt8.self, repeating: 0)
            blocks.copyMemory(from: rest)
            blocks[rest.count] = 0x80
            blocks.storeBytes(of: (UInt64(length) * 8).littleEndian, toByteOffset: size - 8, as: UInt64.self)
            for start in stride(from: 0, to: size, by: 64) {
                mix(UnsafeRawBufferPointer(rebasing: blocks[start..<start + 64]))
            }
        }
    }

    /// The sine of each step times 2³², as in the RFC; none is so near an integer that platforms could differ.
    private static let sines = (1...64).map { UInt32(4_294_967_296 * abs(sin(Double($0)))) }

    /// Processes a block of 64 bytes, in four rounds of four times four steps.
    private mutating func mix(_ block: UnsafeRawBufferPointer) {
        func word(_ index: Int) -> UInt32 {
            UInt32(littleEndian: block.loadUnaligned(fromByteOffset: (index & 15) &* 4, as: UInt32.self))
        }
        func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        var (a, b, c, d) = (a, b, c, d)
        Self.sines.withUnsafeBufferPointer { sines in
            for four in 0..<4 {
                let i = four &* 4
                a = b &+ turned(a &+ (b & c | ~b & d) &+ word(i) &+ sines[i], 7)
                d = a &+ turned(d &+ (a & b | ~a & c) &+ word(i &+ 1) &+ sines[i &+ 1], 12)
                c = d &+ turned(c &+ (d & a | ~d & b) &+ word(i &+ 2) &+ sines[i &+ 2], 17)
                b = c &+ turned(b &+ (c & d | ~c & a) &+ word(i &+ 3) &+ sines[i &+ 3], 22)
            }
            for four in 4..<8 {
                let i = four &* 4
                a = b &+ turned(a &+ (b & d | c & ~d) &+ word(5 &* i &+ 1) &+ sines[i], 5)
                d = a &+ turned(d &+ (a & c | b & ~c) &+ word(5 &* i &+ 6) &+ sines[i &+ 1], 9)
                c = d &+ turned(c &+ (d & b | a & ~b) &+ word(5 &* i &+ 11) &+ sines[i &+ 2], 14)
                b = c &+ turned(b &+ (c & a | d & ~a) &+ word(5 &* i &+ 16) &+ sines[i &+ 3], 20)
            }
            for four in 8..<12 {
                let i = four &* 4
                a = b &+ turned(a &+ (b ^ c ^ d) &+ word(3 &* i &+ 5) &+ sines[i], 4)
                d = a &+ turned(d &+ (a ^ b ^ c) &+ word(3 &* i &+ 8) &+ sines[i &+ 1], 11)
                c = d &+ turned(c &+ (d ^ a ^ b) &+ word(3 &* i &+ 11) &+ sines[i &+ 2], 16)
                b = c &+ turned(b &+ (c ^ d ^ a) &+ word(3 &* i &+ 14) &+ sines[i &+ 3], 23)
            }
            for four in 12..<16 {
                let i = four &* 4
                a = b &+ turned(a &+ (c ^ (b | ~d)) &+ word(7 &* i) &+ sines[i], 6)
                d = a &+ turned(d &+ (b ^ (a | ~c)) &+ word(7 &* i &+ 7) &+ sines[i &+ 1], 10)
                c = d &+ turned(c &+ (a ^ (d | ~b)) &+ word(7 &* i &+ 14) &+ sines[i &+ 2], 15)
                b = c &+ turned(b &+ (d ^ (c | ~a)) &+ word(7 &* i &+ 21) &+ sines[i &+ 3], 21)
            }
        }
        (self.a, self.b, self.c, self.d) = (self.a &+ a, self.b &+ b, self.c &+ c, self.d &+ d)
    }
}

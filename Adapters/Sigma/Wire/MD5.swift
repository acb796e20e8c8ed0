import Experimentation
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

    var hexadecimal: String {
        [a, b, c, d].flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }.hexadecimal
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
        func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word &<< count | word &>> (32 &- count) }
        var (a, b, c, d) = (a, b, c, d)
        func round(
            _ number: Int,
            wordsFrom first: Int,
            by step: Int,
            turning turns: (UInt32, UInt32, UInt32, UInt32),
            _ mixed: (UInt32, UInt32, UInt32) -> UInt32
        ) {
            Self.sines.withUnsafeBufferPointer { sines in
                for i in stride(from: number &* 16, to: number &* 16 &+ 16, by: 4) {
                    let at = first &+ step &* i
                    a = b &+ turned(a &+ mixed(b, c, d) &+ word(at) &+ sines[i], turns.0)
                    d = a &+ turned(d &+ mixed(a, b, c) &+ word(at &+ step) &+ sines[i &+ 1], turns.1)
                    c = d &+ turned(c &+ mixed(d, a, b) &+ word(at &+ 2 &* step) &+ sines[i &+ 2], turns.2)
                    b = c &+ turned(b &+ mixed(c, d, a) &+ word(at &+ 3 &* step) &+ sines[i &+ 3], turns.3)
                }
            }
        }
        round(0, wordsFrom: 0, by: 1, turning: (7, 12, 17, 22)) { $0 & $1 | ~$0 & $2 }
        round(1, wordsFrom: 1, by: 5, turning: (5, 9, 14, 20)) { $0 & $2 | $1 & ~$2 }
        round(2, wordsFrom: 5, by: 3, turning: (4, 11, 16, 23)) { $0 ^ $1 ^ $2 }
        round(3, wordsFrom: 0, by: 7, turning: (6, 10, 15, 21)) { $1 ^ ($0 | ~$2) }
        (self.a, self.b, self.c, self.d) = (self.a &+ a, self.b &+ b, self.c &+ c, self.d &+ d)
    }
}

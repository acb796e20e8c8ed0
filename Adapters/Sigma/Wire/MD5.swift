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

    /// Processes a block of 64 bytes.
    private mutating func mix(_ block: UnsafeRawBufferPointer) {
        func word(_ index: Int) -> UInt32 {
            UInt32(littleEndian: block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
        }
        func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        let before = (a, b, c, d)
        var (a, b, c, d) = before

        a = b &+ turned(a &+ (b & c | ~b & d) &+ word(0) &+ 0xd76a_a478, 7)
        d = a &+ turned(d &+ (a & b | ~a & c) &+ word(1) &+ 0xe8c7_b756, 12)
        c = d &+ turned(c &+ (d & a | ~d & b) &+ word(2) &+ 0x2420_70db, 17)
        b = c &+ turned(b &+ (c & d | ~c & a) &+ word(3) &+ 0xc1bd_ceee, 22)
        a = b &+ turned(a &+ (b & c | ~b & d) &+ word(4) &+ 0xf57c_0faf, 7)
        d = a &+ turned(d &+ (a & b | ~a & c) &+ word(5) &+ 0x4787_c62a, 12)
        c = d &+ turned(c &+ (d & a | ~d & b) &+ word(6) &+ 0xa830_4613, 17)
        b = c &+ turned(b &+ (c & d | ~c & a) &+ word(7) &+ 0xfd46_9501, 22)
        a = b &+ turned(a &+ (b & c | ~b & d) &+ word(8) &+ 0x6980_98d8, 7)
        d = a &+ turned(d &+ (a & b | ~a & c) &+ word(9) &+ 0x8b44_f7af, 12)
        c = d &+ turned(c &+ (d & a | ~d & b) &+ word(10) &+ 0xffff_5bb1, 17)
        b = c &+ turned(b &+ (c & d | ~c & a) &+ word(11) &+ 0x895c_d7be, 22)
        a = b &+ turned(a &+ (b & c | ~b & d) &+ word(12) &+ 0x6b90_1122, 7)
        d = a &+ turned(d &+ (a & b | ~a & c) &+ word(13) &+ 0xfd98_7193, 12)
        c = d &+ turned(c &+ (d & a | ~d & b) &+ word(14) &+ 0xa679_438e, 17)
        b = c &+ turned(b &+ (c & d | ~c & a) &+ word(15) &+ 0x49b4_0821, 22)

        a = b &+ turned(a &+ (b & d | c & ~d) &+ word(1) &+ 0xf61e_2562, 5)
        d = a &+ turned(d &+ (a & c | b & ~c) &+ word(6) &+ 0xc040_b340, 9)
        c = d &+ turned(c &+ (d & b | a & ~b) &+ word(11) &+ 0x265e_5a51, 14)
        b = c &+ turned(b &+ (c & a | d & ~a) &+ word(0) &+ 0xe9b6_c7aa, 20)
        a = b &+ turned(a &+ (b & d | c & ~d) &+ word(5) &+ 0xd62f_105d, 5)
        d = a &+ turned(d &+ (a & c | b & ~c) &+ word(10) &+ 0x0244_1453, 9)
        c = d &+ turned(c &+ (d & b | a & ~b) &+ word(15) &+ 0xd8a1_e681, 14)
        b = c &+ turned(b &+ (c & a | d & ~a) &+ word(4) &+ 0xe7d3_fbc8, 20)
        a = b &+ turned(a &+ (b & d | c & ~d) &+ word(9) &+ 0x21e1_cde6, 5)
        d = a &+ turned(d &+ (a & c | b & ~c) &+ word(14) &+ 0xc337_07d6, 9)
        c = d &+ turned(c &+ (d & b | a & ~b) &+ word(3) &+ 0xf4d5_0d87, 14)
        b = c &+ turned(b &+ (c & a | d & ~a) &+ word(8) &+ 0x455a_14ed, 20)
        a = b &+ turned(a &+ (b & d | c & ~d) &+ word(13) &+ 0xa9e3_e905, 5)
        d = a &+ turned(d &+ (a & c | b & ~c) &+ word(2) &+ 0xfcef_a3f8, 9)
        c = d &+ turned(c &+ (d & b | a & ~b) &+ word(7) &+ 0x676f_02d9, 14)
        b = c &+ turned(b &+ (c & a | d & ~a) &+ word(12) &+ 0x8d2a_4c8a, 20)

        a = b &+ turned(a &+ (b ^ c ^ d) &+ word(5) &+ 0xfffa_3942, 4)
        d = a &+ turned(d &+ (a ^ b ^ c) &+ word(8) &+ 0x8771_f681, 11)
        c = d &+ turned(c &+ (d ^ a ^ b) &+ word(11) &+ 0x6d9d_6122, 16)
        b = c &+ turned(b &+ (c ^ d ^ a) &+ word(14) &+ 0xfde5_380c, 23)
        a = b &+ turned(a &+ (b ^ c ^ d) &+ word(1) &+ 0xa4be_ea44, 4)
        d = a &+ turned(d &+ (a ^ b ^ c) &+ word(4) &+ 0x4bde_cfa9, 11)
        c = d &+ turned(c &+ (d ^ a ^ b) &+ word(7) &+ 0xf6bb_4b60, 16)
        b = c &+ turned(b &+ (c ^ d ^ a) &+ word(10) &+ 0xbebf_bc70, 23)
        a = b &+ turned(a &+ (b ^ c ^ d) &+ word(13) &+ 0x289b_7ec6, 4)
        d = a &+ turned(d &+ (a ^ b ^ c) &+ word(0) &+ 0xeaa1_27fa, 11)
        c = d &+ turned(c &+ (d ^ a ^ b) &+ word(3) &+ 0xd4ef_3085, 16)
        b = c &+ turned(b &+ (c ^ d ^ a) &+ word(6) &+ 0x0488_1d05, 23)
        a = b &+ turned(a &+ (b ^ c ^ d) &+ word(9) &+ 0xd9d4_d039, 4)
        d = a &+ turned(d &+ (a ^ b ^ c) &+ word(12) &+ 0xe6db_99e5, 11)
        c = d &+ turned(c &+ (d ^ a ^ b) &+ word(15) &+ 0x1fa2_7cf8, 16)
        b = c &+ turned(b &+ (c ^ d ^ a) &+ word(2) &+ 0xc4ac_5665, 23)

        a = b &+ turned(a &+ (c ^ (b | ~d)) &+ word(0) &+ 0xf429_2244, 6)
        d = a &+ turned(d &+ (b ^ (a | ~c)) &+ word(7) &+ 0x432a_ff97, 10)
        c = d &+ turned(c &+ (a ^ (d | ~b)) &+ word(14) &+ 0xab94_23a7, 15)
        b = c &+ turned(b &+ (d ^ (c | ~a)) &+ word(5) &+ 0xfc93_a039, 21)
        a = b &+ turned(a &+ (c ^ (b | ~d)) &+ word(12) &+ 0x655b_59c3, 6)
        d = a &+ turned(d &+ (b ^ (a | ~c)) &+ word(3) &+ 0x8f0c_cc92, 10)
        c = d &+ turned(c &+ (a ^ (d | ~b)) &+ word(10) &+ 0xffef_f47d, 15)
        b = c &+ turned(b &+ (d ^ (c | ~a)) &+ word(1) &+ 0x8584_5dd1, 21)
        a = b &+ turned(a &+ (c ^ (b | ~d)) &+ word(8) &+ 0x6fa8_7e4f, 6)
        d = a &+ turned(d &+ (b ^ (a | ~c)) &+ word(15) &+ 0xfe2c_e6e0, 10)
        c = d &+ turned(c &+ (a ^ (d | ~b)) &+ word(6) &+ 0xa301_4314, 15)
        b = c &+ turned(b &+ (d ^ (c | ~a)) &+ word(13) &+ 0x4e08_11a1, 21)
        a = b &+ turned(a &+ (c ^ (b | ~d)) &+ word(4) &+ 0xf753_7e82, 6)
        d = a &+ turned(d &+ (b ^ (a | ~c)) &+ word(11) &+ 0xbd3a_f235, 10)
        c = d &+ turned(c &+ (a ^ (d | ~b)) &+ word(2) &+ 0x2ad7_d2bb, 15)
        b = c &+ turned(b &+ (d ^ (c | ~a)) &+ word(9) &+ 0xeb86_d391, 21)

        (self.a, self.b, self.c, self.d) = (before.0 &+ a, before.1 &+ b, before.2 &+ c, before.3 &+ d)
    }
}

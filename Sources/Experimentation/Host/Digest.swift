/// SHA-256, for the names of cached items: outside keys must not choose where something is stored.
///
/// Foundation has no digest on Linux, and the core has no third-party dependency; the algorithm is that of FIPS 180-4.
/// It is written with plain loops and wrapping operators, which are quick without optimization too: tests digest a lot.
package enum Digest {
    private static let start: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]

    /// The 32 bytes of the digest.
    package static func sha256(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let message = padded(Array(bytes))
        var state = start
        state.withUnsafeMutableBufferPointer { state in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
                message.withUnsafeBufferPointer { message in
                    constants.withUnsafeBufferPointer { constants in
                        var block = 0
                        while block < message.count {
                            expand(message, from: block, into: words)
                            mix(state, words, constants)
                            block &+= 64
                        }
                    }
                }
            }
        }
        return [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
            while count < 32 {
                bytes[count] = UInt8(truncatingIfNeeded: state[count / 4] &>> UInt32(24 &- count % 4 &* 8))
                count &+= 1
            }
        }
    }

    /// The digest of strings as 64 hexadecimal digits; strings are delimited, so `["ab", "c"]` differs from `["a",
    /// "bc"]`.
    package static func hex(_ parts: String...) -> String { hex(parts) }

    /// The digest of strings as 64 hexadecimal digits.
    package static func hex(_ parts: [String]) -> String {
        var bytes: [UInt8] = []
        for part in parts {
            bytes.append(contentsOf: Array("\(part.utf8.count):".utf8))
            bytes.append(contentsOf: Array(part.utf8))
        }
        let digest = sha256(bytes)
        return String(unsafeUninitializedCapacity: 64) { text in
            var place = 0
            while place < 64 {
                let digit = digest[place / 2] &>> (place % 2 == 0 ? 4 : 0) & 0xF
                text[place] = digit < 10 ? 0x30 &+ digit : 0x57 &+ digit
                place &+= 1
            }
            return place
        }
    }

    /// Fills the last blocks: a one, zeros, and the length in bits.
    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        var message = bytes
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        var shift: UInt64 = 64
        while shift > 0 {
            shift &-= 8
            message.append(UInt8(truncatingIfNeeded: (UInt64(bytes.count) &* 8) &>> shift))
        }
        return message
    }

    private static func expand(
        _ message: UnsafeBufferPointer<UInt8>,
        from block: Int,
        into words: UnsafeMutableBufferPointer<UInt32>
    ) {
        var index = 0
        while index < 16 {
            let at = block &+ index &* 4
            words[index] =
                UInt32(message[at]) &<< 24 | UInt32(message[at &+ 1]) &<< 16 | UInt32(message[at &+ 2]) &<< 8
                | UInt32(message[at &+ 3])
            index &+= 1
        }
        while index < 64 {
            let old = words[index &- 15]
            let new = words[index &- 2]
            let one = rotated(old, 7) ^ rotated(old, 18) ^ old &>> 3
            let two = rotated(new, 17) ^ rotated(new, 19) ^ new &>> 10
            words[index] = words[index &- 16] &+ one &+ words[index &- 7] &+ two
            index &+= 1
        }
    }

    private static func mix(
        _ state: UnsafeMutableBufferPointer<UInt32>,
        _ words: UnsafeMutableBufferPointer<UInt32>,
        _ constants: UnsafeBufferPointer<UInt32>
    ) {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        var index = 0
        while index < 64 {
            let choice = (e & f) ^ (~e & g)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let first =
                h &+ (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) &+ choice &+ constants[index] &+ words[index]
            let second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) &+ majority
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ second)
            index &+= 1
        }
        (state[0], state[1], state[2], state[3]) = (state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d)
        (state[4], state[5], state[6], state[7]) = (state[4] &+ e, state[5] &+ f, state[6] &+ g, state[7] &+ h)
    }

    @inline(__always)
    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word &>> count | word &<< (32 &- count) }
}

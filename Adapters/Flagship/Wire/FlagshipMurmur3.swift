/// The vendor's hash, MurmurHash3 in its 32-bit variant for x86 with seed 0, fed piece by piece.
///
/// A partially fed hash is a value: the shared prefix of many ids is fed once and copied.
package struct FlagshipMurmur3: Sendable {
    private var state: UInt32 = 0
    private var tail: UInt32 = 0
    private var tailBits: UInt32 = 0
    private var count: UInt32 = 0

    /// Begins a hash with a text.
    init(of text: String) { feed(text) }

    mutating func feed(_ text: String) {
        let isFed: Void? = text.utf8.withContiguousStorageIfAvailable { feed($0) }
        if isFed == nil { for byte in text.utf8 { feed(byte) } }
    }

    /// The hash of everything fed so far.
    var value: UInt32 {
        var hash = tailBits == 0 ? state : state ^ Self.scramble(tail)
        hash ^= count
        hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
        hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
        return hash ^ hash >> 16
    }

    package static func hash(_ text: String) -> UInt32 { FlagshipMurmur3(of: text).value }

    /// Returns two hashes of a visitor's id in an environment, from which the first versions made their keys.
    static func pair(of visitorID: String, in scope: String) -> String {
        let hashes = ["a", "b"].map { hash("\(scope)/\($0)/\(visitorID)") }
        return hashes.map { String($0, radix: 36) }.joined(separator: "-")
    }

    private mutating func feed(_ bytes: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index < raw.count {
            if tailBits == 0, index &+ 4 <= raw.count {
                mix(UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt32.self)))
                count &+= 4
                index &+= 4
            } else {
                feed(raw[index])
                index &+= 1
            }
        }
    }

    private mutating func feed(_ byte: UInt8) {
        tail |= UInt32(byte) << tailBits
        tailBits &+= 8
        count &+= 1
        if tailBits == 32 {
            mix(tail)
            tail = 0
            tailBits = 0
        }
    }

    private mutating func mix(_ word: UInt32) {
        state ^= Self.scramble(word)
        state = (state << 13 | state >> 19) &* 5 &+ 0xE654_6B64
    }

    private static func scramble(_ word: UInt32) -> UInt32 {
        let product = word &* 0xCC9E_2D51
        return (product << 15 | product >> 17) &* 0x1B87_3593
    }
}

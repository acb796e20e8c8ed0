extension Sequence<UInt8> {
    /// The 64-bit FNV-1a hash of the bytes, or of these bytes after others that have this hash.
    ///
    /// The same in every run, unlike the standard library's, and quick. Not for security: texts with the same hash are
    /// easy to find.
    package func fnv1a(after hash: UInt64 = 0xCBF2_9CE4_8422_2325) -> UInt64 {
        reduce(hash) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// String searches that don't allocate when both strings are ASCII.
enum BucketingText {
    /// Whether a string contains another, by canonical equivalence; no string contains an empty one.
    static func contains(_ text: String, _ part: String) -> Bool {
        guard !part.isEmpty else { return false }
        let found = text.utf8.withContiguousStorageIfAvailable { text in
            part.utf8.withContiguousStorageIfAvailable { part in search(text, part) }
        }
        // Without contiguous bytes, or with letters beyond ASCII, it compares whole characters, which is slow.
        if case .some(.some(.some(let isThere))) = found { return isThere }
        return text.contains(part)
    }

    /// Searches ASCII byte by byte; `nil` if either string isn't ASCII.
    private static func search(
        _ text: UnsafeBufferPointer<UInt8>,
        _ part: UnsafeBufferPointer<UInt8>
    ) -> Bool? {
        for byte in text where byte >= 0x80 { return nil }
        for byte in part where byte >= 0x80 { return nil }
        guard part.count <= text.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
    }
}

/// For each flag which vendor answers it, where that is decided once for all users; read without counting a reference.
final class DirectTable: Sendable {
    /// Where one flag is read.
    struct Entry: Sendable {
        var part: Int
        /// The flag's index in the vendor's catalogue; negative if its line has to be gone along.
        var flag: Int
        /// Where the vendor's outcomes begin among the flag's.
        var start: Int
        /// How many outcomes of the flag come from vendors.
        var count: Int

        static let none = Entry(part: 0, flag: -1, start: 0, count: 0)
    }

    let count: Int
    // Written once, and freed with this object: sharing it is safe.
    private nonisolated(unsafe) let entries: UnsafeMutablePointer<Entry>

    init(_ all: [Entry]) {
        count = all.count
        entries = .allocate(capacity: max(all.count, 1))
        for (index, entry) in all.enumerated() { (entries + index).initialize(to: entry) }
    }

    deinit { entries.deallocate() }

    /// The entry of a flag; the index is one of theirs.
    @inline(__always)
    subscript(index: Int) -> Entry { entries[index] }
}

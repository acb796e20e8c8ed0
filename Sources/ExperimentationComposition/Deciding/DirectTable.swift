/// For each flag the vendor that answers it, where that is the same for all users; accessed without reference counting.
final class DirectTable: Sendable {
    /// Where one flag is read.
    struct Entry: Sendable {
        /// The vendor's reader, kept by the object that made the table; `nil` if the flag's line has to be followed.
        nonisolated(unsafe) var reader: Unmanaged<PartReader>?
        /// The flag's index in the vendor's catalogue.
        var flag: Int
        /// The index of the vendor's first outcome among the flag's outcomes.
        var start: Int
        /// The number of the vendors' outcomes.
        var count: Int

        static let none = Entry(reader: nil, flag: -1, start: 0, count: 0)
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

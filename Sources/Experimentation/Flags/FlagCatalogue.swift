/// All flags of a vendor's rules, with every value that each can have: built once, shared by all sessions.
///
/// Keys are compared by their UTF-8 bytes, so two spellings of one letter are two keys. Looking a key up takes no lock,
/// allocates nothing and writes nothing, reference counts included; that is why the tables are plain memory.
public final class FlagCatalogue: Sendable {
    /// A flag with all its possible values.
    public struct Flag: Sendable {
        /// The flag's key.
        public var key: String
        /// The flag's possible values; at most 65,534.
        public var outcomes: [Resolution]

        /// Creates a flag.
        public init(_ key: String, outcomes: [Resolution]) {
            self.key = key
            self.outcomes = outcomes
        }
    }

    /// A flag's possible value, with its scalar unpacked for the hot path.
    struct Outcome {
        var scalar: Scalar
        var place: Int32
        var resolution: Resolution
    }

    /// A value that can be copied without touching a reference count.
    enum Scalar {
        case none
        case bool(Bool)
        case int(Int)
        case double(Double)
        case reference
    }

    /// The flags' keys, in the order given.
    public let keys: [String]
    /// The assignments that outcomes refer to.
    public let assignments: [Assignment]

    // Written in the initializer, freed in the deinitializer, and only read between: sharing them is safe.
    private nonisolated(unsafe) let slots: UnsafeMutablePointer<Slot>
    private nonisolated(unsafe) let bytes: UnsafeMutablePointer<UInt8>
    private nonisolated(unsafe) let outcomes: UnsafeMutablePointer<Outcome>
    private nonisolated(unsafe) let starts: UnsafeMutablePointer<Int32>
    private let mask: Int
    private let outcomeCount: Int
    /// The largest number of values that any flag has.
    let mostOutcomes: Int

    private struct Slot {
        var hash: UInt32 = 0
        var flag: Int32 = -1
        var offset: UInt32 = 0
        var length: UInt32 = 0
    }

    /// Creates a catalogue; of two flags with the same key the later counts.
    ///
    /// - Parameters:
    ///   - flags: The flags, in the vendor's order.
    ///   - assignments: The assignments that outcomes refer to by index.
    public init(flags: [Flag], assignments: [Assignment] = []) {
        var last: [[UInt8]: Int] = [:]
        for (index, flag) in flags.enumerated() { last[Array(flag.key.utf8)] = index }
        let kept = flags.enumerated().filter { last[Array($1.key.utf8)] == $0 }.map(\.element)

        keys = kept.map(\.key)
        count = kept.count
        self.assignments = assignments
        outcomeCount = kept.reduce(0) { $0 + $1.outcomes.count }
        mostOutcomes = kept.reduce(0) { max($0, $1.outcomes.count) }
        outcomes = .allocate(capacity: max(outcomeCount, 1))
        starts = .allocate(capacity: kept.count + 1)
        var capacity = 4
        while capacity < kept.count * 2 { capacity *= 2 }
        mask = capacity - 1
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: Slot(), count: capacity)
        bytes = .allocate(capacity: max(kept.reduce(0) { $0 + $1.key.utf8.count }, 1))

        var outcome = 0
        var offset = 0
        for (index, flag) in kept.enumerated() {
            starts[index] = Int32(outcome)
            for resolution in flag.outcomes {
                let place = resolution.assignment.flatMap { assignments.indices.contains($0) ? Int32($0) : nil } ?? -1
                (outcomes + outcome).initialize(
                    to: Outcome(scalar: Self.scalar(of: resolution), place: place, resolution: resolution)
                )
                outcome += 1
            }
            let start = offset
            for byte in flag.key.utf8 {
                bytes[offset] = byte
                offset += 1
            }
            let hash = Self.hash(UnsafeBufferPointer(start: bytes + start, count: offset - start))
            var position = Int(hash) & mask
            while slots[position].flag >= 0 { position = (position + 1) & mask }
            slots[position] = Slot(
                hash: hash,
                flag: Int32(index),
                offset: UInt32(start),
                length: UInt32(offset - start)
            )
        }
        starts[kept.count] = Int32(outcome)
    }

    deinit {
        outcomes.deinitialize(count: outcomeCount)
        outcomes.deallocate()
        starts.deallocate()
        slots.deallocate()
        bytes.deallocate()
    }

    /// A catalogue without flags.
    public static let empty = FlagCatalogue(flags: [])

    /// How many flags there are.
    public let count: Int

    /// The index of a flag, or `nil`.
    public func index(of key: String) -> Int? {
        let found = find(key)
        return found < 0 ? nil : found
    }

    /// The number of a flag's possible values; 0 for an invalid index.
    public func outcomeCount(ofFlag flag: Int) -> Int {
        guard flag >= 0, flag < count else { return 0 }
        return Int(starts[flag + 1] - starts[flag])
    }

    /// Returns one of a flag's possible values, or `nil` for invalid indices.
    public func resolution(ofFlag flag: Int, outcome: Int) -> Resolution? {
        guard flag >= 0, flag < keys.count, outcome >= 0, outcome < outcomeCount(ofFlag: flag) else { return nil }
        return outcomes[Int(starts[flag]) + outcome].resolution
    }

    // MARK: The hot path

    /// The index of a flag, or -1.
    func find(_ key: String) -> Int {
        if let found = key.utf8.withContiguousStorageIfAvailable({ find($0) }) { return found }
        // A bridged string without contiguous bytes: rare, and worth a copy.
        return Array(key.utf8).withUnsafeBufferPointer { find($0) }
    }

    /// The index of a flag whose key was hashed before, or -1.
    func find(_ key: String, hash: UInt32) -> Int {
        if let found = key.utf8.withContiguousStorageIfAvailable({ find($0, hash: hash) }) { return found }
        return Array(key.utf8).withUnsafeBufferPointer { find($0, hash: hash) }
    }

    private func find(_ key: UnsafeBufferPointer<UInt8>) -> Int { find(key, hash: Self.hash(key)) }

    @inline(__always)
    private func find(_ key: UnsafeBufferPointer<UInt8>, hash: UInt32) -> Int {
        var position = Int(hash) & mask
        while true {
            let slot = slots[position]
            if slot.flag < 0 { return -1 }
            if slot.hash == hash, Int(slot.length) == key.count, Self.equal(bytes + Int(slot.offset), key) {
                return Int(slot.flag)
            }
            position = (position + 1) & mask
        }
    }

    /// Returns one of a flag's possible values; the indices must be valid.
    func outcome(_ flag: Int, _ outcome: Int) -> UnsafePointer<Outcome> {
        UnsafePointer(outcomes + Int(starts[flag]) + outcome)
    }

    private static func equal(_ one: UnsafePointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        let one = UnsafeRawPointer(one)
        let two = UnsafeRawBufferPointer(other)
        var index = 0
        while index &+ 8 <= two.count {
            if one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                != two.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            {
                return false
            }
            index &+= 8
        }
        while index < two.count {
            if one.load(fromByteOffset: index, as: UInt8.self) != two[index] { return false }
            index &+= 1
        }
        return true
    }

    /// The hash of a key, the same in every catalogue.
    static func hash(_ key: String) -> UInt32 {
        var key = key
        return key.withUTF8 { hash($0) }
    }

    /// Mixes eight bytes at a time with a multiplication, which is plenty for keys from a vendor's console.
    private static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt32 {
        let bytes = UnsafeRawBufferPointer(key)
        var state = 0x9E37_79B9_7F4A_7C15 ^ UInt64(truncatingIfNeeded: bytes.count)
        var index = 0
        while index &+ 8 <= bytes.count {
            state = (state ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0xFF51_AFD7_ED55_8CCD
            state ^= state >> 32
            index &+= 8
        }
        var tail: UInt64 = 0
        while index < bytes.count {
            tail = tail << 8 | UInt64(bytes[index])
            index &+= 1
        }
        state = (state ^ tail) &* 0xC4CE_B9FE_1A85_EC53
        return UInt32(truncatingIfNeeded: state ^ state >> 32)
    }

    private static func scalar(of resolution: Resolution) -> Scalar {
        guard resolution.error == nil else { return .none }
        return switch resolution.value {
        case .null: .none
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .string, .array, .object: .reference
        }
    }
}

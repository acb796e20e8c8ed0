import Experimentation

/// The assignments of very many users in memory, for a server that looks up users as they come.
///
/// A user takes 24 bytes and one for each experiment, and 24 more for a second id; only digests of ids are stored.
/// Assign it to ``MigratingProvider/imported``: a user without a record then begins with the places found here.
public struct AssignmentTable: Sendable {
    private let mapping: Mapping
    private let arms: [[String]]
    private var keys: [Key?] = Array(repeating: nil, count: 16)
    private var rows: [UInt8] = Array(repeating: 0, count: 0)
    /// The number of keys in use; a user with two ids has two.
    private var used = 0
    /// The number of users.
    public private(set) var count = 0

    /// A 128-bit digest; a collision among millions of users is practically impossible.
    private struct Key: Sendable, Hashable {
        var high: UInt64
        var low: UInt64
        var row: UInt32 = 0
    }

    /// Creates an empty table for the experiments of a mapping.
    public init(_ mapping: Mapping) {
        self.mapping = mapping
        arms = mapping.experiments.map { $0.variations.keys.sorted() }
    }

    /// Adds a user's places; the first one in an experiment stays.
    ///
    /// - Parameter assignments: Variations by experiment or group, with the old vendor's ids.
    /// - Returns: The number of new places, and why others were rejected.
    public mutating func add(_ assignments: ImportedAssignments) -> (taken: Int, refused: [ImportFault]) {
        var refused: [ImportFault] = []
        var places: [(experiment: Int, arm: UInt8)] = []
        for (experiment, variation) in assignments.variations.sorted(by: { $0.key < $1.key }) {
            do throws(ImportFault) {
                let index = try mapping.importIndex(experiment, variation)
                guard let arm = arms[index].firstIndex(of: variation), arm < 255 else { continue }
                places.append((index, UInt8(arm + 1)))
            } catch {
                refused.append(error)
            }
        }
        guard !places.isEmpty else { return (0, refused) }
        let row = row(for: assignments.user, assignments.id)
        var taken = 0
        for place in places where rows[row + place.experiment] == 0 {
            rows[row + place.experiment] = place.arm
            taken += 1
        }
        return (taken, refused)
    }

    /// Returns a user's variation in an experiment of the old vendor.
    ///
    /// - Parameters:
    ///   - user: The user's stable key: the anonymous id if there is one.
    ///   - experiment: The experiment's index in the mapping.
    /// - Returns: The old vendor's id of the variation; `nil` if there is none.
    public func variation(of user: String, inExperiment experiment: Int) -> String? {
        guard arms.indices.contains(experiment), case let slot = slot(of: Self.key(of: user)), let key = keys[slot]
        else {
            return nil
        }
        let arm = rows[Int(key.row) * arms.count + experiment]
        return arm == 0 ? nil : arms[experiment][Int(arm) - 1]
    }

    /// Returns all of a user's places by the old vendor's groups; empty for an unknown user.
    public func variations(of user: String) -> [String: String] {
        guard let key = keys[slot(of: Self.key(of: user))] else { return [:] }
        var found: [String: String] = [:]
        for experiment in arms.indices {
            let arm = rows[Int(key.row) * arms.count + experiment]
            if arm != 0 { found[mapping.experiments[experiment].old.group] = arms[experiment][Int(arm) - 1] }
        }
        return found
    }

    // MARK: Lookup

    /// The row of a user, which an earlier line may have added under either id.
    private mutating func row(for user: String, _ id: String?) -> Int {
        let known = keys[slot(of: Self.key(of: user))] ?? id.flatMap { keys[slot(of: Self.key(of: $0))] }
        if let known, id == nil { return Int(known.row) * arms.count }
        let row = known?.row ?? UInt32(count)
        if known == nil {
            count += 1
            rows.append(contentsOf: repeatElement(0, count: arms.count))
        }
        for id in [user, id] { if let id { lead(from: id, to: row) } }
        return Int(row) * arms.count
    }

    /// Lets an id lead to a row, unless it leads to one already.
    private mutating func lead(from id: String, to row: UInt32) {
        var key = Self.key(of: id)
        if keys[slot(of: key)] != nil { return }
        if used * 2 >= keys.count { grow() }
        key.row = row
        keys[slot(of: key)] = key
        used += 1
    }

    private mutating func grow() {
        let old = keys
        keys = Array(repeating: nil, count: old.count * 2)
        for key in old { if let key { keys[slot(of: key)] = key } }
    }

    /// The slot that holds the key, or the free one where it belongs.
    private func slot(of key: Key) -> Int {
        let mask = keys.count - 1
        var slot = Int(truncatingIfNeeded: key.low) & mask
        while let other = keys[slot], other.high != key.high || other.low != key.low { slot = (slot + 1) & mask }
        return slot
    }

    private static func key(of user: String) -> Key {
        var high: UInt64 = 0x9E37_79B9_7F4A_7C15
        var low: UInt64 = 0xC2B2_AE3D_27D4_EB4F
        for byte in user.utf8 {
            high = (high ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            low = (low &+ UInt64(byte)) &* 0x9FB2_1C65_1E98_DF25
            low ^= low >> 29
        }
        return Key(high: mixed(high), low: mixed(low ^ high))
    }

    private static func mixed(_ number: UInt64) -> UInt64 {
        var z = number
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension Mapping {
    /// Returns the mapping's index of the experiment in an imported line.
    ///
    /// - Throws: A fault if the experiment or the variation isn't mapped.
    func importIndex(_ experiment: String, _ variation: String) throws(ImportFault) -> Int {
        guard
            let index = index(ofGroup: experiment, at: .old)
                ?? experiments.firstIndex(where: { $0.old.experiment == experiment })
        else { throw ImportFault("no experiment \"\(experiment)\" is mapped", as: "the experiment isn't mapped") }
        guard experiments[index].variations[variation] != nil else {
            throw ImportFault(
                "no variation \"\(variation)\" of \"\(experiment)\" is mapped",
                as: "the variation of \"\(experiments[index].old.experiment)\" isn't mapped"
            )
        }
        return index
    }
}

import Experimentation
import Foundation

/// A move's records of users, in the state store; of concurrent writers, the first one wins.
struct People: Sendable {
    private let state: any StateStore
    private let imported: Imported?

    /// Looks up imported places at the old vendor: variations by group, for a stable key.
    typealias Imported = @Sendable (_ user: String) -> [String: String]

    init(in state: any StateStore, log: any LogSink, imported: Imported? = nil) {
        self.state = SealedState(state, log: log)
        self.imported = imported
    }

    static let prefix = "migration/people/"
    private static let aliases = "migration/aliases/"

    /// A user's record as read, with the bytes that a write is compared with.
    struct Found: Sendable {
        var person: Person
        var written: [UInt8]?
        /// The digest under which the record is stored.
        var digest: String
    }

    /// Finds a user's record by the anonymous id, or through the id of an earlier visit.
    func find(_ identity: Identity) async throws(ExperimentationError) -> Found {
        let own = StableKey(identity).digest
        if let written = try await state.value(for: Self.prefix + own) {
            return Found(person: Self.read(written), written: written, digest: own)
        }
        if !identity.id.isEmpty, let bytes = try await state.value(for: Self.alias(of: identity.id)) {
            let first = String(decoding: bytes, as: UTF8.self)
            if let written = try await state.value(for: Self.prefix + first) {
                return Found(person: Self.read(written), written: written, digest: first)
            }
        }
        var person = Person()
        if let imported {
            for (group, variation) in imported(StableKey(identity).text) {
                person.places["old/\(group)"] = Person.Place(variation: variation, by: .old)
            }
        }
        return Found(person: person, written: nil, digest: own)
    }

    /// Whether any record can also be found by a second id.
    func hasAliases() async throws(ExperimentationError) -> Bool {
        try await !state.keys(beginningWith: Self.aliases).isEmpty
    }

    /// Adds places to a user with a single id; existing places stay.
    ///
    /// - Parameters:
    ///   - places: The places, by ``Person/key(ofGroup:at:in:)``.
    ///   - user: The id.
    ///   - mayHaveAlias: Whether the user's record may have another key.
    /// - Returns: The number of places added.
    /// - Throws: ``ErrorCode/store``.
    func add(
        _ places: [String: Person.Place],
        of user: String,
        mayHaveAlias: Bool
    ) async throws(ExperimentationError) -> Int {
        let identity = Identity(id: user)
        // Most imported users are new, so the first write is tried without a lookup.
        var found = Found(person: Person(), written: nil, digest: StableKey(identity).digest)
        if mayHaveAlias { found = try await find(identity) }
        while true {
            var person = found.person
            person.places.merge(places) { present, _ in present }
            let added = person.places.count - found.person.places.count
            if added == 0 { return 0 }
            if try await write(person, over: found, of: identity) { return added }
            found = try await find(identity)
        }
    }

    /// Writes a record unless it has changed since it was read.
    ///
    /// - Returns: Whether it was written; if not, read it again.
    func write(_ person: Person, over found: Found, of identity: Identity) async throws(ExperimentationError) -> Bool {
        var person = person
        let id = StableKey(identity.id).digest
        let needsAlias = !identity.id.isEmpty && id != found.digest && !person.names.contains(id)
        if needsAlias { person.names.insert(id) }
        guard person != found.person || found.written == nil else { return true }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(person) else { return true }
        let update = try await state.update(Self.prefix + found.digest, to: Array(data), if: found.written)
        guard case .updated = update else { return false }
        if needsAlias {
            // With several devices, the record belongs to the one on which the user signed in first.
            _ = try await state.update(Self.alias(of: identity.id), to: Array(found.digest.utf8), if: nil)
        }
        return true
    }

    /// Deletes a user's records and aliases, whichever of the ids is given.
    func forget(_ userID: String) async throws(ExperimentationError) {
        let alias = Self.alias(of: userID)
        let named = try await state.value(for: alias).map { String(decoding: $0, as: UTF8.self) }
        var keys = [alias]
        for digest in [StableKey(userID).digest, named].compactMap({ $0 }) {
            guard let written = try await state.value(for: Self.prefix + digest) else { continue }
            keys.append(Self.prefix + digest)
            keys += Self.read(written).names.sorted().map { Self.aliases + $0 }
        }
        try await state.removeAll(beginningWith: keys)
    }

    /// Returns the number of records, and of users on each side.
    func census() async throws(ExperimentationError) -> (all: Int, sides: [MigrationSide: Int]) {
        let keys = try await state.keys(beginningWith: Self.prefix)
        var sides: [MigrationSide: Int] = [:]
        for key in keys {
            guard let written = try await state.value(for: key), let side = Self.read(written).side else { continue }
            sides[side, default: 0] += 1
        }
        return (keys.count, sides)
    }

    private static func alias(of id: String) -> String { aliases + StableKey(id).digest }

    private static func read(_ bytes: [UInt8]) -> Person {
        // An unreadable value counts as missing, as everywhere in the state store.
        (try? JSONDecoder().decode(Person.self, from: Data(bytes))) ?? Person()
    }
}

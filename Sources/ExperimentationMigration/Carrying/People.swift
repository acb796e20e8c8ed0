import Experimentation
import Foundation

/// A move's records of users, in the state store; of concurrent writers, the first one wins.
struct People: Sendable {
    let state: any StateStore
    private let move: String?
    private let imported: Imported?
    private let kept: Kept?
    /// Notifies decisions under way of users who are removed.
    let removals = UserRemovals()
    let owed = OwedRemovals()

    /// Looks up imported places at the old vendor: variations by group, for a stable key.
    typealias Imported = @Sendable (_ user: String) -> [String: String]
    /// Looks up what the client kept of a user before the move was wrapped around the old vendor.
    typealias Kept = @Sendable (_ userID: String) async throws(ExperimentationError) -> [String: String]

    /// Creates access to the records in the move's part of a store.
    ///
    /// - Parameters:
    ///   - state: The move's part of a store.
    ///   - move: The name of the move; `nil` to leave each record to the move that it belongs to, as an import does.
    ///   - log: Where damage is logged.
    ///   - kept: What the client kept before the move.
    ///   - imported: Imported places.
    init(
        in state: any StateStore,
        of move: String? = nil,
        log: any LogSink,
        kept: Kept? = nil,
        imported: Imported? = nil
    ) {
        self.state = SealedState(state, log: log)
        self.move = move
        self.kept = kept
        self.imported = imported
    }

    static let prefix = "migration/people/"
    static let aliases = "migration/aliases/"
    /// Further records of a user whose alias leads to another one, by the digests of id and record.
    private static let devices = "migration/devices/"

    /// A user's record as read, with the bytes that a write is compared with.
    struct Found: Sendable {
        var person: Person
        var written: [UInt8]? = nil
        /// The digest under which the record is stored.
        var digest: String
        /// Whether the record belongs to another move as stored, or names none.
        var isOfOtherMove = false
    }

    /// Finds a user's record by the anonymous id or by the id, under which it may have begun, or through an alias of
    /// either.
    func find(_ identity: Identity) async throws(ExperimentationError) -> Found {
        var found = try await stored(identity) ?? Found(person: Person(), digest: StableKey(identity).digest)
        // Until the old vendor has been asked, what users have seen elsewhere fills in.
        if found.written == nil {
            for id in Self.ids(of: identity) { found.person.addOld(imported?(id) ?? [:]) }
        }
        var handedOver: [String: String] = [:]
        if let move, found.person.move != move {
            found.isOfOtherMove = true
            handedOver = found.person.begin(move)
        }
        if !found.person.isKnown, let kept { found.person.addOld(try await kept(identity.id)) }
        found.person.addOld(handedOver)
        return found
    }

    private func stored(_ identity: Identity) async throws(ExperimentationError) -> Found? {
        for id in Self.ids(of: identity) {
            let own = StableKey(id).digest
            if let found = try await stored(under: own) { return found }
            guard let target = try await target(of: own) else { continue }
            if let found = try await stored(under: target) { return found }
        }
        return nil
    }

    func stored(under digest: String) async throws(ExperimentationError) -> Found? {
        guard let written = try await state.value(for: Self.prefix + digest) else { return nil }
        return Found(person: Self.read(written), written: written, digest: digest)
    }

    /// The ids that lead to a user's record: the anonymous one, which stays the same when the user signs in, first.
    static func ids(of identity: Identity) -> [String] {
        let stable = StableKey(identity).text
        return [stable] + (identity.id.isEmpty || identity.id == stable ? [] : [identity.id])
    }

    /// The digests of a user's ids under which their record isn't stored.
    static func names(of identity: Identity, besides digest: String) -> [String] {
        ids(of: identity).map { StableKey($0).digest }.filter { $0 != digest }
    }

    /// Whether any record can also be found by a second id.
    func hasAliases() async throws(ExperimentationError) -> Bool {
        try await !state.keys(beginningWith: Self.aliases).isEmpty
    }

    /// Adds places to a user; existing places stay.
    ///
    /// - Parameters:
    ///   - places: The places, by ``Person/key(ofGroup:at:in:)``.
    ///   - user: The stable key.
    ///   - id: A second id that leads to the same record.
    ///   - mayHaveAlias: Whether the user's record may have another key.
    /// - Returns: The number of places added.
    /// - Throws: ``ErrorCode/store``.
    func add(
        _ places: [String: Person.Place],
        of user: String,
        _ id: String? = nil,
        mayHaveAlias: Bool
    ) async throws(ExperimentationError) -> Int {
        let identity = id.map { Identity(id: $0, anonymousID: user) } ?? Identity(id: user)
        // Most imported users are new, so the first write is tried without a lookup.
        var found = Found(person: Person(), written: nil, digest: StableKey(identity).digest)
        if mayHaveAlias { found = try await find(identity) }
        while true {
            var person = found.person
            person.places.merge(places) { present, _ in present }
            let added = person.places.count - found.person.places.count
            // A second id may still have to lead to the record.
            if added == 0, id == nil { return 0 }
            if try await write(person, over: found, of: identity) { return added }
            found = try await find(identity)
        }
    }

    /// Writes a record unless it has changed since it was read.
    ///
    /// - Returns: Whether it was written; if not, read it again.
    func write(_ person: Person, over found: Found, of identity: Identity) async throws(ExperimentationError) -> Bool {
        var person = person
        let missing = Self.names(of: identity, besides: found.digest).filter { !person.names.contains($0) }
        person.names.formUnion(missing)
        guard person != found.person || found.written == nil || found.isOfOtherMove else { return true }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(person) else { return true }
        // Written before the record that names them: an alias that leads nowhere is ignored, but a missing one is never
        // added.
        try await lead(missing, to: found.digest)
        let update = try await state.update(Self.prefix + found.digest, to: Array(data), if: found.written)
        guard case .updated = update else { return false }
        // A decision from before a removal may have removed the aliases meanwhile.
        try await lead(missing, to: found.digest)
        return true
    }

    /// Makes ids lead to a record.
    func lead(_ names: [String], to digest: String) async throws(ExperimentationError) {
        for name in names {
            // With several devices, the alias leads to the record of the one on which the user signed in first.
            let alias = try await state.update(Self.aliases + name, to: Array(digest.utf8), if: nil)
            guard case .conflict(let other) = alias, other != Array(digest.utf8) else { continue }
            try await state.setValue([], for: Self.device(name, digest))
        }
    }

    /// Returns the number of records, and of users on each side of a move; `nil` for users of any move.
    func census(of move: String? = nil) async throws(ExperimentationError) -> (all: Int, sides: [MigrationSide: Int]) {
        let keys = try await state.keys(beginningWith: Self.prefix)
        var sides: [MigrationSide: Int] = [:]
        for key in keys {
            guard let written = try await state.value(for: key) else { continue }
            let person = Self.read(written)
            guard let side = person.side, move == nil || person.move == nil || person.move == move else { continue }
            sides[side, default: 0] += 1
        }
        return (keys.count, sides)
    }

    /// The record to which an id's alias leads.
    func target(of name: String) async throws(ExperimentationError) -> String? {
        try await state.text(for: Self.aliases + name)
    }

    static func device(_ name: String, _ digest: String) -> String { "\(devices)\(name)/\(digest)" }

    private static func read(_ bytes: [UInt8]) -> Person {
        // An unreadable value counts as missing, as everywhere in the state store.
        (try? JSONDecoder().decode(Person.self, from: Data(bytes))) ?? Person()
    }
}

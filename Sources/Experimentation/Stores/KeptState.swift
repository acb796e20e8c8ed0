import Foundation

/// What the client keeps between runs, in a written form that is specific to this provider's scope.
///
/// Each value carries a digest over scope, key and content: a value that was edited, or copied from another account or
/// user, counts as missing.
struct KeptState: Sendable {
    /// The number of times that others may change a value while it is being merged.
    private static let mostConflicts = 16

    let store: any StateStore
    private let prefix: String
    private let scope: String
    private let log: any LogSink
    private let forgetElsewhere: @Sendable (_ userID: String) async throws(ExperimentationError) -> Void
    /// Notified of every user about whom something may have been removed.
    let removals = UserRemovals()

    /// Creates the state of an account.
    ///
    /// - Parameters:
    ///   - store: The underlying store.
    ///   - account: The owner of the state.
    ///   - log: Where failures to read or write are logged.
    ///   - forgetElsewhere: Removes what the provider itself keeps about a user.
    init(
        store: any StateStore,
        of account: Destination,
        log: any LogSink,
        forgetElsewhere: @escaping @Sendable (_ userID: String) async throws(ExperimentationError) -> Void = { _ in }
    ) {
        self.store = store
        self.forgetElsewhere = forgetElsewhere
        scope = account.account
        prefix = String(scope.prefix(32)) + "/"
        self.log = log
    }

    /// A key of the store.
    struct Key: Sendable {
        let name: String
        static let ruleset = Key(name: "ruleset")
        /// The vendor's last confirmation that the ruleset still holds.
        static let confirmation = Key(name: "confirmation")
        static let overrides = Key(name: "overrides")
        static let killSwitch = Key(name: "kill-switch")
        static func decisions(of userID: String) -> Key { Key(name: "decisions/" + Digest.hex(userID)) }
        static func assignments(of userID: String) -> Key { Key(name: "assignments/" + Digest.hex(userID)) }
        static func link(of userID: String) -> Key { Key(name: "link/" + Digest.hex(userID)) }
        static func denial(of userID: String) -> Key { Key(name: denials + Digest.hex(userID)) }
        // The name in the first released files.
        static let denials = "withdrawal/"
    }

    /// Reads a value whose absence must be certain; `nil` if there is none, or if anything is wrong with it.
    ///
    /// - Parameters:
    ///   - type: The value's type.
    ///   - key: The key.
    ///   - patience: How long to keep trying if the store fails; not at all if `nil`.
    /// - Returns: The value.
    /// - Throws: What the store throws; it is logged as well.
    func find<Value: Decodable>(
        _ type: Value.Type,
        _ key: Key,
        _ patience: ReadingPatience? = nil
    ) async throws(ExperimentationError) -> Value? {
        try await findBytes(key, patience).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }

    /// Reads bytes as ``find(_:_:_:)`` does.
    func findBytes(_ key: Key, _ patience: ReadingPatience? = nil) async throws(ExperimentationError) -> [UInt8]? {
        do throws(ExperimentationError) {
            guard let patience else { return try await content(of: key) }
            return try await patience.read { () async throws(ExperimentationError) in try await content(of: key) }
        } catch {
            logUnreadable(error)
            throw error
        }
    }

    /// Writes a value, or removes it with `nil`.
    ///
    /// A failure is logged: a failing cache must not stop its caller.
    ///
    /// - Returns: Whether it was written.
    @discardableResult
    func write<Value: Encodable>(_ value: Value?, _ key: Key) async -> Bool {
        do throws(ExperimentationError) {
            let bytes: [UInt8]? = if let value { try written(value, key) } else { nil }
            try await store.setValue(bytes, for: prefix + key.name)
            return true
        } catch {
            logUnwritable("\(error)")
            return false
        }
    }

    /// Writes a user's decisions as ``write(_:_:)`` would, ten times as fast, since a server does so for every user.
    func write(_ decisions: StoredDecisions, of userID: String) async {
        guard let bytes = try? decisions.written() else { return logUnwritable("it has no written form.") }
        await write(bytes: bytes, .decisions(of: userID))
    }

    /// Changes a value that other sessions and processes change as well.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - believed: What the caller believes to be stored, which saves reading it.
    ///   - change: Returns the value to store in place of the stored one; may be called several times.
    /// - Returns: What is stored now; `nil` after a failure, which is logged.
    func change<Value: Codable & Equatable>(
        _ key: Key,
        believed: Value?,
        _ change: (Value?) -> Value
    ) async -> Value? {
        do throws(ExperimentationError) {
            var found = believed
            var expected: [UInt8]? = if let believed { try written(believed, key) } else { nil }
            for _ in 0..<Self.mostConflicts {
                let value = change(found)
                if value == found { return value }
                let update = try await store.update(prefix + key.name, to: written(value, key), if: expected)
                guard case .conflict(let other) = update else { return value }
                expected = other
                found = other.flatMap { content(in: $0, of: key) }
                    .flatMap { try? JSONDecoder().decode(Value.self, from: Data($0)) }
            }
            throw ExperimentationError(.store, "Others keep changing it.")
        } catch {
            logUnwritable("\(error)")
            return nil
        }
    }

    /// Writes a value whose loss would matter.
    func require<Value: Encodable>(_ value: Value, _ key: Key) async throws(ExperimentationError) {
        try await store.setValue(written(value, key), for: prefix + key.name)
    }

    /// Reads bytes.
    func bytes(_ key: Key) async -> [UInt8]? { (try? await findBytes(key)) ?? nil }

    private func logUnreadable(_ error: ExperimentationError) {
        log.log(.warning, "cache.unreadable", "A cached value can't be read: \(error)")
    }

    /// Reads bytes whose absence must be certain; `nil` only if there are none, or if they aren't the ones that were
    /// written.
    private func content(of key: Key) async throws(ExperimentationError) -> [UInt8]? {
        try await store.value(for: prefix + key.name).flatMap { content(in: $0, of: key) }
    }

    private func content(in stored: [UInt8], of key: Key) -> [UInt8]? {
        guard stored.count >= 32 else { return nil }
        let content = Array(stored[32...])
        guard stored[..<32].elementsEqual(seal(content, key)) else {
            log.log(.warning, "cache.rejected", "A cached value was changed or belongs elsewhere; it is ignored.")
            return nil
        }
        return content
    }

    /// Writes bytes, or removes them with `nil`.
    ///
    /// - Returns: Whether it was done; a failure is logged.
    @discardableResult
    func write(bytes: [UInt8]?, _ key: Key) async -> Bool {
        do throws(ExperimentationError) {
            try await store.setValue(bytes.map { sealed($0, key) }, for: prefix + key.name)
            return true
        } catch {
            logUnwritable("\(error)")
            return false
        }
    }

    private func logUnwritable(_ reason: String) {
        log.log(.warning, "cache.unwritable", "A value can't be cached: \(reason)")
    }

    /// Removes a user's decisions, assignments and progress of a link, and the provider's own state of the user, without a
    /// trace.
    func forget(userID: String) async throws(ExperimentationError) {
        defer { removals.note(userID) }
        let keys = [Key.decisions(of: userID), .assignments(of: userID), .link(of: userID)]
        try await store.removeAll(beginningWith: keys.map { prefix + $0.name })
        try await forgetElsewhere(userID)
    }

    // MARK: Owed denials

    /// Records that a user's denial of consent is still to be carried out.
    func oweDenial(of userID: String) async {
        await write(bytes: Array(userID.utf8), .denial(of: userID))
    }

    /// Removes that record, without a trace.
    func endDenial(of userID: String) async throws(ExperimentationError) {
        try await store.removeAll(beginningWith: prefix + Key.denial(of: userID).name)
    }

    /// The users whose denial an earlier run couldn't carry out.
    ///
    /// - Throws: What the store throws: some may be unknown then.
    func owedDenials() async throws(ExperimentationError) -> [String] {
        var users: [String] = []
        for key in try await store.keys(beginningWith: prefix + Key.denials) {
            let content = try await content(of: Key(name: String(key.dropFirst(prefix.count))))
            if let content { users.append(String(decoding: content, as: UTF8.self)) }
        }
        return users
    }

    /// Returns a trimmer that limits a kind of value to the most recently written users.
    func trimmer(of kind: String, to count: Int) -> StateTrimmer { StateTrimmer(store, of: prefix + kind, to: count) }

    private func written(_ value: some Encodable, _ key: Key) throws(ExperimentationError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(value) else {
            throw ExperimentationError(.store, "A value has no written form.")
        }
        return sealed(Array(data), key)
    }

    private func sealed(_ content: [UInt8], _ key: Key) -> [UInt8] { seal(content, key) + content }

    private func seal(_ content: [UInt8], _ key: Key) -> [UInt8] {
        Digest.sha256(Array("\(scope)/\(key.name)/".utf8) + content)
    }
}

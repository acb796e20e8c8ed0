import Foundation

/// What the client keeps between runs, in a written form that is specific to this provider's scope.
///
/// Each value carries a digest over scope, key and content: a value that was edited, or copied from another account or
/// user, counts as missing.
struct KeptState: Sendable {
    let store: any StateStore
    private let prefix: String
    private let scope: String
    private let log: any LogSink
    private let forgetElsewhere: @Sendable (_ userID: String) async throws(ExperimentationError) -> Void
    /// Told of every user of whom something may have been removed.
    let removals = UserRemovals()

    /// Creates the state of an account.
    ///
    /// - Parameters:
    ///   - store: The underlying store.
    ///   - account: The owner of the state.
    ///   - log: Where failures to read or write are logged.
    ///   - forgetElsewhere: Removes what the provider itself keeps of a user.
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
        /// The vendor's last word that the ruleset still holds.
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

    /// Reads a value; `nil` whatever is wrong with it.
    func read<Value: Decodable>(_ type: Value.Type, _ key: Key) async -> Value? {
        guard let content = await bytes(key) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(content))
    }

    /// Reads a value whose absence must be certain; `nil` if there is none, or whatever is wrong with it.
    ///
    /// - Throws: What the store throws; it is logged as well.
    func find<Value: Decodable>(_ type: Value.Type, _ key: Key) async throws(ExperimentationError) -> Value? {
        do throws(ExperimentationError) {
            return try await content(of: key).flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
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
        guard let value else { return await write(bytes: nil, key) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(value) else {
            logUnwritable("it has no written form.")
            return false
        }
        return await write(bytes: Array(data), key)
    }

    /// Writes a user's decisions as ``write(_:_:)`` would, ten times as fast, since a server does so for every user.
    func write(_ decisions: StoredDecisions, of userID: String) async {
        guard let bytes = try? decisions.written() else { return logUnwritable("it has no written form.") }
        await write(bytes: bytes, .decisions(of: userID))
    }

    /// Writes a value whose loss would matter.
    func require<Value: Encodable>(_ value: Value, _ key: Key) async throws(ExperimentationError) {
        guard let data = try? JSONEncoder().encode(value) else {
            throw ExperimentationError(.store, "A value that must be kept has no written form.")
        }
        try await store.setValue(sealed(Array(data), key), for: prefix + key.name)
    }

    /// Reads bytes.
    func bytes(_ key: Key) async -> [UInt8]? {
        do throws(ExperimentationError) { return try await content(of: key) } catch {
            logUnreadable(error)
            return nil
        }
    }

    private func logUnreadable(_ error: ExperimentationError) {
        log.log(.warning, "cache.unreadable", "A cached value can't be read: \(error)")
    }

    /// Reads bytes whose absence must be certain; `nil` only if there are none, or others than were written.
    private func content(of key: Key) async throws(ExperimentationError) -> [UInt8]? {
        guard let stored = try await store.value(for: prefix + key.name), stored.count >= 32 else { return nil }
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

    /// Removes a user's decisions and assignments, and the provider's own state of them, without a trace.
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

    /// Returns what limits a kind of value to the most recently written users.
    func trimmer(of kind: String, to count: Int) -> StateTrimmer { StateTrimmer(store, of: prefix + kind, to: count) }

    private func sealed(_ content: [UInt8], _ key: Key) -> [UInt8] { seal(content, key) + content }

    private func seal(_ content: [UInt8], _ key: Key) -> [UInt8] {
        Digest.sha256(Array("\(scope)/\(key.name)/".utf8) + content)
    }
}

/// A ruleset in its written form: a short head, and the vendor's own bytes.
struct StoredRuleset: Codable, Sendable {
    var validator: String?
    var date: Date
    var raw: [UInt8]

    /// The bytes to store: the header's length, the header, the vendor's bytes.
    var written: [UInt8] {
        let head = Array("\(date.timeIntervalSince1970)\n\(validator ?? "")".utf8)
        let length = UInt32(truncatingIfNeeded: head.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: length >> (UInt32($0) * 8)) } + head + raw
    }

    init(validator: String?, date: Date, raw: [UInt8]) {
        self.validator = validator
        self.date = date
        self.raw = raw
    }

    /// Parses what ``written`` returned.
    init?(written: [UInt8]) {
        guard written.count >= 4 else { return nil }
        let length = Int(written[0]) | Int(written[1]) << 8 | Int(written[2]) << 16 | Int(written[3]) << 24
        guard length <= written.count - 4 else { return nil }
        let head = String(decoding: written[4..<(4 + length)], as: UTF8.self)
        let parts = head.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = Double(parts[0]) else { return nil }
        date = Date(timeIntervalSince1970: seconds)
        validator = parts[1].isEmpty ? nil : String(parts[1])
        raw = Array(written[(4 + length)...])
    }
}

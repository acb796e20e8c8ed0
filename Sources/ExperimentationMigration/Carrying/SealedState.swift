import Experimentation

/// A state store that seals each value with a digest over key and content: a value that was altered, or copied from
/// another user, counts as missing.
struct SealedState: StateStoreDecorator {
    let baseState: any StateStore
    private let log: any LogSink

    init(_ store: any StateStore, log: any LogSink) {
        baseState = store
        self.log = log
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        guard let stored = try await baseState.value(for: key) else { return nil }
        if let content = Self.opened(stored, key) { return content }
        log.log(.warning, "migration.rejected", "A value of the move was changed or belongs elsewhere; it is ignored.")
        return nil
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await baseState.setValue(value.map { Self.sealed($0, key) }, for: key)
    }

    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        let new = value.map { Self.sealed($0, key) }
        let update = try await baseState.update(key, to: new, if: expected.map { Self.sealed($0, key) })
        guard case .conflict(let stored?) = update else { return update }
        if let content = Self.opened(stored, key) { return .conflict(content) }
        // The caller read the damaged value as missing, so the update replaces exactly that value.
        guard expected == nil else { return .conflict(nil) }
        switch try await baseState.update(key, to: new, if: stored) {
        case .updated: return .updated
        case .conflict(let other): return .conflict(other.flatMap { Self.opened($0, key) })
        }
    }

    private static func sealed(_ content: [UInt8], _ key: String) -> [UInt8] { seal(content, key) + content }

    private static func opened(_ stored: [UInt8], _ key: String) -> [UInt8]? {
        guard stored.count >= 32 else { return nil }
        let content = Array(stored[32...])
        return stored[..<32].elementsEqual(seal(content, key)) ? content : nil
    }

    private static func seal(_ content: [UInt8], _ key: String) -> [UInt8] {
        Digest.sha256(Array("migration/\(key)/".utf8) + content)
    }
}

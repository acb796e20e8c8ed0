/// One value per user in a state store; the most recently written ones are kept.
package struct UserValues: Sendable {
    private let store: any StateStore
    private let prefix: String
    private let names: @Sendable (_ userID: String) -> [String]
    private let trimmer: StateTrimmer
    private let time: any TimeSource

    /// Creates the values of one kind.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - prefix: The beginning of their keys.
    ///   - count: How many to keep.
    ///   - time: The clock.
    ///   - names: The rest of a user's key, made of digests, followed by its form in earlier versions; none may be a
    ///     prefix of another one.
    package init(
        in store: any StateStore,
        under prefix: String,
        keeping count: Int,
        time: any TimeSource,
        names: @escaping @Sendable (_ userID: String) -> [String]
    ) {
        self.store = store
        self.prefix = prefix
        self.names = names
        self.time = time
        trimmer = StateTrimmer(store, of: prefix, to: count)
    }

    /// Returns a user's value that satisfies a predicate; `nil` if there is none.
    ///
    /// What the store can't read at first is read again for up to 200 milliseconds; after that it counts as missing.
    package func value(of userID: String, where isWanted: ([UInt8]) -> Bool = { _ in true }) async -> [UInt8]? {
        try? await ReadingPatience(by: time).read { () async throws(ExperimentationError) in
            try await read(userID, isWanted)
        }
    }

    private func read(
        _ userID: String,
        _ isWanted: ([UInt8]) -> Bool
    ) async throws(ExperimentationError) -> [UInt8]? {
        for key in keys(of: userID) {
            if let value = try await store.value(for: key), isWanted(value) { return value }
        }
        return nil
    }

    /// Sets a user's value.
    package func set(_ value: [UInt8], of userID: String) async throws(ExperimentationError) {
        try await store.setValue(value, for: keys(of: userID)[0])
        await trimmer.trim()
    }

    /// Sets a user's value unless one satisfies a predicate, or is written meanwhile.
    package func set(
        _ value: [UInt8],
        of userID: String,
        unless isWanted: ([UInt8]) -> Bool
    ) async throws(ExperimentationError) {
        let key = keys(of: userID)[0]
        let known = try await store.value(for: key)
        if let known, isWanted(known) { return }
        _ = try await store.update(key, to: value, if: known)
        await trimmer.trim()
    }

    /// Removes a user's value without a trace.
    package func remove(of userID: String) async throws(ExperimentationError) {
        try await store.removeAll(beginningWith: keys(of: userID))
    }

    private func keys(of userID: String) -> [String] { names(userID).map { prefix + $0 } }
}

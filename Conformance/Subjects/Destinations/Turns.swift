/// Runs one job at a time, in the order of arrival.
actor Turns {
    private var last: Task<Void, Never>?

    /// Runs a piece of work when its turn has come.
    func attempt<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let result = await take { () async -> Result<Value, any Error> in
            do { return .success(try await work()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Runs a piece of work that can't fail when its turn has come.
    func take<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        let before = last
        let task = Task {
            await before?.value
            return await work()
        }
        last = Task { _ = await task.value }
        return await task.value
    }
}

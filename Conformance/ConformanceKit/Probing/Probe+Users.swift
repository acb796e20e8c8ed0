import Experimentation

extension Probe {
    /// What a case reads from the sessions of many users, in the order of the users.
    ///
    /// Eight users come at a time: one after another, hundreds would take longer than a case may on a busy machine.
    func reading<Value: Sendable>(
        _ users: [User],
        _ read: @escaping @Sendable (UserSession) -> Value
    ) async throws -> [Value] {
        var values: [Value?] = Array(repeating: nil, count: users.count)
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            for (index, user) in users.enumerated() {
                if index >= 8, let (earlier, value) = try await group.next() { values[earlier] = value }
                group.addTask { (index, read(try await self.readySession(for: user))) }
            }
            for try await (index, value) in group { values[index] = value }
        }
        return values.compactMap { $0 }
    }
}

import Experimentation

extension ExperimentationClient {
    /// Gives one flag a value while a body runs, for all users, and then gives back what was there before.
    ///
    /// ```swift
    /// try await client.withFlag("newCheckout", as: true) {
    ///     #expect(CheckoutScreen(session).style == .new)
    /// }
    /// ```
    ///
    /// What is read meanwhile has reason `LOCAL_OVERRIDE`, and is no exposure. Tests that run side by side need a client each.
    ///
    /// - Parameters:
    ///   - key: The flag's key.
    ///   - value: The value.
    ///   - isolation: Where the body runs: where the caller does.
    ///   - body: What runs meanwhile.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    public func withFlag<Result>(
        _ key: String,
        as value: any AttributeConvertible,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let before = flagOverrides[key]
        overrideFlag(key, with: value)
        defer { overrideFlag(key, with: before) }
        return try await body()
    }
}

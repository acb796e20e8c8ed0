import Experimentation

extension ExperimentationClient {
    /// Gives a flag a value for all users while a body runs, and then restores the previous state.
    ///
    /// ```swift
    /// try await client.withFlag("newCheckout", as: true) {
    ///     #expect(CheckoutScreen(session).style == .new)
    /// }
    /// ```
    ///
    /// Reads in the meantime have the reason `LOCAL_OVERRIDE`, and aren't exposures. Tests that run in parallel need
    /// one client each.
    ///
    /// - Parameters:
    ///   - key: The flag's key.
    ///   - value: The value.
    ///   - isolation: Where the body runs; the caller's isolation.
    ///   - body: The code to run meanwhile.
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

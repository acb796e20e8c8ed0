extension ConformanceSubject {
    /// Runs a case against this subject, for a test with `arguments: ConformanceCase.all`.
    ///
    /// ```swift
    /// @Test(arguments: ConformanceCase.all)
    /// func conforms(to conformanceCase: ConformanceCase) async {
    ///     let complaint = await MySubject().complaint(about: conformanceCase)
    ///     #expect(complaint == nil)
    /// }
    /// ```
    ///
    /// - Returns: An account of a failed case: expectations, steps, exchanges; `nil` if the case doesn't fail.
    public func complaint(about conformanceCase: ConformanceCase) async -> String? {
        let result = await ConformanceRunner().run(conformanceCase, against: self)
        return result.outcome.isFailure ? result.account : nil
    }
}

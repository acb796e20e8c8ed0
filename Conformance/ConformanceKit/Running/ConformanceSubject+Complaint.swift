extension ConformanceSubject {
    /// Runs one case against this subject, for a test with `arguments: ConformanceCase.all`.
    ///
    /// ```swift
    /// @Test(arguments: ConformanceCase.all)
    /// func conforms(to conformanceCase: ConformanceCase) async {
    ///     let complaint = await MySubject().complaint(about: conformanceCase)
    ///     #expect(complaint == nil)
    /// }
    /// ```
    ///
    /// - Returns: What a person needs to know when the case fails: expectations, steps, exchanges; `nil` if all is well.
    public func complaint(about conformanceCase: ConformanceCase) async -> String? {
        let result = await ConformanceRunner().run(conformanceCase, against: self)
        return result.outcome.isFailure ? result.account : nil
    }
}

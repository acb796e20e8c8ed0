import Experimentation
import Foundation

/// Admits tests that run cases: a test library starts hundreds at once, and on few cores they would starve one another.
private let turns = AsyncSemaphore(limit: 4 * ProcessInfo.processInfo.activeProcessorCount)

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
    /// In one process, four calls for each core run at a time; the others wait for their turn.
    ///
    /// - Returns: An account of a failed case: expectations, steps, exchanges; `nil` if the case doesn't fail.
    public func complaint(about conformanceCase: ConformanceCase) async -> String? {
        let isAdmitted = (try? await turns.enter()) != nil
        defer { if isAdmitted { turns.leave() } }
        let result = await ConformanceRunner().run(conformanceCase, against: self)
        return result.outcome.isFailure ? result.account : nil
    }
}

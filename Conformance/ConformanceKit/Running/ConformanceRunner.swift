import Experimentation
import Foundation
import Synchronization

/// Opens the stores of a case, the same ones at each call within a run of the case; `nil` for the subject's own.
public typealias CaseStores = @Sendable (_ attempt: CaseAttempt) async throws -> ClientStore?

/// A run of a case, as the key for the data stored on its behalf.
public struct CaseAttempt: Sendable {
    /// The case.
    public let conformanceCase: ConformanceCase
    /// Identifies this run.
    public let id: String
}

/// Runs cases against subjects, each within a time limit.
public struct ConformanceRunner: Sendable {
    /// The time limit of a case, in real time; a case that advances gets a few times as much.
    public var limit: Duration
    /// The number of cases that run concurrently.
    public var width: Int
    /// The number of consecutive hanging cases after which a subject is abandoned and its remaining cases fail without
    /// running.
    ///
    /// Otherwise a subject that always hangs would delay the report by one limit per case.
    public var patience: Int
    /// The cases to skip, because an adapter under construction doesn't pass them yet.
    public var skipping: CaseList
    /// Opens the stores of a case, again after each restart; `nil`, or a `nil` result, for the subject's own.
    public var stores: CaseStores?
    /// The clock for the report's date.
    public var now: @Sendable () -> Date

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - limit: The time limit of a case, in real time.
    ///   - width: The number of cases that run concurrently.
    ///   - patience: The number of consecutive hanging cases after which a subject is abandoned.
    ///   - skipping: The cases to skip.
    ///   - stores: Opens the stores of a case.
    ///   - now: The clock for the report's date.
    public init(
        limit: Duration = .seconds(60),
        width: Int = 4,
        patience: Int = 8,
        skipping: CaseList = CaseList(),
        stores: CaseStores? = nil,
        now: @escaping @Sendable () -> Date = { SuiteTime().now }
    ) {
        self.limit = limit
        self.width = width
        self.patience = patience
        self.skipping = skipping
        self.stores = stores
        self.now = now
    }

    /// Runs cases against subjects.
    ///
    /// - Parameters:
    ///   - cases: The cases.
    ///   - subjects: The subjects.
    ///   - progress: Receives each result as soon as it is available.
    /// - Returns: The results, in the order of subjects and cases.
    public func run(
        _ cases: [ConformanceCase],
        against subjects: [any ConformanceSubject],
        progress: @escaping @Sendable (_ subject: String, CaseResult) -> Void = { _, _ in }
    ) async -> ConformanceReport {
        var reports: [ConformanceReport.Subject] = []
        for subject in subjects {
            let fitting = Self.cases(cases, for: subject)
            let chosen = fitting.filter { !skipping.contains($0.name, of: subject.name) }
            let results = await results(of: chosen, against: subject, progress: progress)
            var report = ConformanceReport.Subject(subject, results: results)
            report.skipped = fitting.map(\.name).filter { skipping.contains($0, of: subject.name) }
            reports.append(report)
        }
        return ConformanceReport(subjects: reports, date: now())
    }

    /// The cases that apply to a subject: those for several vendors, about moves, and for whole SDKs each have subjects
    /// of their own.
    public static func cases(
        _ cases: [ConformanceCase],
        for subject: any ConformanceSubject
    ) -> [ConformanceCase] {
        cases.filter { $0.isAbout(subject) }
    }

    private func results(
        of cases: [ConformanceCase],
        against subject: any ConformanceSubject,
        progress: @escaping @Sendable (String, CaseResult) -> Void
    ) async -> [CaseResult] {
        await withTaskGroup(of: (Int, CaseResult, Ending).self) { group in
            var results = [CaseResult?](repeating: nil, count: cases.count)
            var next = 0
            var hangs = 0
            func startNext() {
                guard next < cases.count else { return }
                let index = next
                next += 1
                let isGivenUp = hangs >= max(1, patience)
                group.addTask {
                    let (result, ending) = await play(cases[index], against: subject, isGivenUp: isGivenUp)
                    return (index, result, ending)
                }
            }
            for _ in 0..<max(1, width) { startNext() }
            while let (index, result, ending) = await group.next() {
                switch ending {
                case .ended: hangs = 0
                case .hung: hangs += 1
                case .untried: break
                }
                results[index] = result
                progress(subject.name, result)
                startNext()
            }
            return results.compactMap { $0 }
        }
    }

    /// Runs a case against a subject.
    public func run(_ conformanceCase: ConformanceCase, against subject: any ConformanceSubject) async -> CaseResult {
        await play(conformanceCase, against: subject, isGivenUp: false).result
    }

    /// How the run of a case ended.
    private enum Ending { case ended, hung, untried }

    private func play(
        _ conformanceCase: ConformanceCase,
        against subject: any ConformanceSubject,
        isGivenUp: Bool
    ) async -> (result: CaseResult, ending: Ending) {
        let start = ContinuousClock.now
        let (outcome, story, ending) = await outcome(of: conformanceCase, against: subject, isGivenUp: isGivenUp)
        let result = CaseResult(
            name: conformanceCase.name,
            promise: conformanceCase.promise,
            summary: conformanceCase.summary,
            outcome: outcome,
            duration: start.duration(to: .now),
            story: story
        )
        return (result, ending)
    }

    private func outcome(
        of conformanceCase: ConformanceCase,
        against subject: any ConformanceSubject,
        isGivenUp: Bool
    ) async -> (Outcome, Story, Ending) {
        let missing = Capability.all.filter {
            conformanceCase.requires.contains($0) && !subject.capabilities.contains($0)
        }
        var probed: Capability?
        if let first = missing.first {
            let reason = subject.reasons[first] ?? "\(subject.name) doesn't declare \"\(first)\""
            let isOfOthers = subject.capabilitiesOfOthers.contains(first)
            guard missing.count == 1, conformanceCase.probes == first, !isOfOthers else {
                return (.unsupported(reason), Story(), .untried)
            }
            probed = first
        }
        let untold = conformanceCase.fields.subtracting(subject.wireFields).sorted { $0.rawValue < $1.rawValue }
        if let field = untold.first {
            let attempt = Attempt(subject, withoutTold: field)
            return (judge(attempt, of: conformanceCase, by: subject, probed: probed), Story(), .untried)
        }
        if isGivenUp {
            let failure = Failure(
                "\(subject.name) hung in \(patience) cases in a row, so this one wasn't tried",
                file: #fileID,
                line: #line
            )
            return (.failed([failure]), Story(), .untried)
        }
        let start = ContinuousClock.now
        let attempt: Attempt
        do {
            // Each part of an attempt gets less than the whole limit, so that a hanging attempt says which part hangs.
            let (part, stores) = (limit * 0.7, stores)
            attempt = try await Bounded.run(for: limit * Double(Bounded.mostLimits)) {
                await Attempt.make(conformanceCase, subject, within: part, stores)
            }
        } catch {
            let failure = Failure(
                "\(subject.name) hangs: \(error)",
                file: #fileID,
                line: #line
            )
            return (.failed([failure]), Story(), .hung)
        }
        let outcome = judge(attempt, of: conformanceCase, by: subject, probed: probed)
        // A call that gave up only after much of the time limit counts as hanging.
        let isSlow = !attempt.failures.isEmpty && start.duration(to: .now) >= limit * 0.4
        return (outcome, attempt.story, isSlow ? .hung : .ended)
    }

    private func judge(
        _ attempt: Attempt,
        of conformanceCase: ConformanceCase,
        by subject: any ConformanceSubject,
        probed: Capability?
    ) -> Outcome {
        if let probed {
            let reason = subject.reasons[probed] ?? "\(subject.name) doesn't declare \"\(probed)\""
            return attempt.inapplicable == nil && attempt.failures.isEmpty ? .undeclared(probed) : .unsupported(reason)
        }
        if let reason = attempt.inapplicable { return .unsupported(reason) }
        if let record = subject.knownDeviations.first(where: { $0.covers(conformanceCase.name) }) {
            return attempt.failures.isEmpty ? .outdated(record) : .deviates(record, attempt.failures)
        }
        return attempt.failures.isEmpty ? .passed : .failed(attempt.failures)
    }
}

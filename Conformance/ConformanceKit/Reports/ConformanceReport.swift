import Experimentation
import Foundation

/// The results of a run: every case with every subject.
///
/// Deliberately without a score.
public struct ConformanceReport: Sendable, Hashable {
    /// The results of one subject.
    public struct Subject: Sendable, Hashable {
        /// The subject's name.
        public var name: String
        /// The declared capabilities, in the order of the matrix.
        public var capabilities: [Capability]
        /// The result of each case.
        public var results: [CaseResult]
        /// The adapter's version; `nil` if it has none.
        public var version: String?
        /// How the declared capabilities are known.
        public var evidence = Evidence()
        /// The recorded deviations from the neutral contract.
        public var deviations: [KnownDeviation] = []
        /// The fields of an event that its wire carries.
        public var wireFields: Set<Received.Field> = []
        /// Why its wire doesn't carry the other fields.
        public var wireReasons: [Received.Field: String] = [:]
        /// The cases that were skipped on request.
        public var skipped: [String] = []
        /// Whether it is a whole SDK.
        public var isWholeSDK = false
        /// The names of the suite's cases that apply to such a subject, whether they ran or not.
        public var suiteCases: [String] = ConformanceCase.all.map(\.name)

        /// Creates a subject's results.
        public init(name: String, capabilities: [Capability], results: [CaseResult]) {
            self.name = name
            self.capabilities = capabilities
            self.results = results
        }

        /// Creates results from a subject.
        public init(_ subject: any ConformanceSubject, results: [CaseResult]) {
            let known = Capability.all.filter { subject.capabilities.contains($0) }
            let others = subject.capabilities.subtracting(Capability.all).sorted { $0.rawValue < $1.rawValue }
            self.init(name: subject.name, capabilities: known + others, results: results)
            version = subject.version
            evidence = subject.evidence
            deviations = subject.knownDeviations
            wireFields = subject.wireFields
            wireReasons = subject.wireReasons
            isWholeSDK = subject.isWholeSDK
            suiteCases = ConformanceCase.every.filter { $0.isAbout(subject) }.map(\.name)
        }

        /// The number of cases by outcome word.
        public var counts: [String: Int] {
            Dictionary(results.map { ($0.outcome.word, 1) }, uniquingKeysWith: +)
        }

        /// Whether every case that applies to it ran or was skipped on request: some of the cases alone prove
        /// nothing about what it declares.
        var isWhole: Bool { Set(suiteCases).isSubset(of: results.map(\.name) + skipped) }

        /// The cases that can show a capability: those that apply to every subject of its kind.
        private var proofs: [ConformanceCase] { isWholeSDK ? ConformanceCase.wholeSDK : ConformanceCase.all }

        /// The declared capabilities of which every case was tried, at least one passed and none failed.
        public var verified: [Capability] {
            let outcomes = Dictionary(results.map { ($0.name, $0.outcome) }, uniquingKeysWith: { first, _ in first })
            return capabilities.filter { capability in
                let asking = proofs.filter { $0.requires.contains(capability) }
                return asking.allSatisfy { outcomes[$0.name].map { !$0.isFailure } ?? false }
                    && asking.contains { outcomes[$0.name] == .passed }
            }
        }

        /// Whether a passed case rests on a capability that is only inferred.
        public func restsOnInference(_ result: CaseResult) -> Bool {
            guard result.outcome == .passed, !evidence.capabilities.isEmpty else { return false }
            return ConformanceCase.every.first { $0.name == result.name }?.requires.contains(where: evidence.isInferred)
                ?? false
        }

        /// The declared capabilities that no case has verified.
        ///
        /// Includes only those whose cases all ran: a partial run says nothing about the rest.
        public var unproven: [Capability] {
            let outcomes = Dictionary(results.map { ($0.name, $0.outcome) }, uniquingKeysWith: { first, _ in first })
            let cases = proofs
            return capabilities.filter { capability in
                let asking = cases.filter { $0.requires.contains(capability) }
                // A capability that no case requires of a whole SDK can't be shown either.
                if isWholeSDK, asking.isEmpty { return cases.allSatisfy { outcomes[$0.name] != nil } }
                guard !asking.isEmpty, asking.allSatisfy({ outcomes[$0.name] != nil }) else { return false }
                return !asking.contains { outcomes[$0.name] == .passed }
            }
        }

        /// The recorded deviations that cover no case of the suite, or only cases that aren't supported: nothing could
        /// show that they still occur, or that they don't.
        ///
        /// Empty for a partial run.
        public var idleDeviations: [KnownDeviation] {
            guard isWhole else { return [] }
            let tried = results.filter { result in
                if case .unsupported = result.outcome { false } else { true }
            }
            let names = skipped + tried.map(\.name)
            return deviations.filter { !names.contains(where: $0.covers) }
        }
    }

    /// The subjects' results, in the order of the run.
    public var subjects: [Subject]
    /// The version of the suite.
    public var suite = ConformanceCase.suiteVersion
    /// When the run took place.
    public var date: Date?
    /// The operating system and processor of the run.
    public var platform = ConformanceReport.thisPlatform

    /// Creates a report.
    public init(subjects: [Subject], date: Date? = nil) {
        self.subjects = subjects
        self.date = date
    }

    /// Whether every subject keeps and shows what it declares, and every recorded deviation still applies.
    public var isSuccess: Bool {
        subjects.allSatisfy { subject in
            subject.results.allSatisfy { !$0.outcome.isFailure } && subject.unproven.isEmpty
                && subject.idleDeviations.isEmpty
        }
    }

    /// The outcome words, in the order of reports.
    public static let words = ["passed", "failed", "broken", "undeclared", "deviates", "unsupported"]
}

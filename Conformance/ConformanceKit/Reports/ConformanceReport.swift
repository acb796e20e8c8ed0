import Experimentation
import Foundation

/// What came of a run: every case with every subject.
///
/// There is deliberately no score.
public struct ConformanceReport: Sendable, Hashable {
    /// One subject's part.
    public struct Subject: Sendable, Hashable {
        /// The subject's name.
        public var name: String
        /// What it declares, in the order of the matrix.
        public var capabilities: [Capability]
        /// What came of each case.
        public var results: [CaseResult]
        /// The adapter's version, if it says so.
        public var version: String?
        /// How what it declares is known.
        public var evidence = Evidence()
        /// The deviations from the neutral contract that it records.
        public var deviations: [KnownDeviation] = []
        /// What its wire tells of an event.
        public var wireFields: Set<Received.Field> = []
        /// Why its wire doesn't tell the rest.
        public var wireReasons: [Received.Field: String] = [:]
        /// The cases that were left out on request.
        public var skipped: [String] = []

        /// Creates a subject's part.
        public init(name: String, capabilities: [Capability], results: [CaseResult]) {
            self.name = name
            self.capabilities = capabilities
            self.results = results
        }

        /// Creates a subject's part from the subject.
        public init(_ subject: any ConformanceSubject, results: [CaseResult]) {
            let known = Capability.all.filter { subject.capabilities.contains($0) }
            let others = subject.capabilities.subtracting(Capability.all).sorted { $0.rawValue < $1.rawValue }
            self.init(name: subject.name, capabilities: known + others, results: results)
            version = subject.version
            evidence = subject.evidence
            deviations = subject.knownDeviations
            wireFields = subject.wireFields
            wireReasons = subject.wireReasons
        }

        /// How many cases ended with each word.
        public var counts: [String: Int] {
            Dictionary(results.map { ($0.outcome.word, 1) }, uniquingKeysWith: +)
        }

        /// Whether it was tried as a whole SDK.
        var isWholeSDK: Bool { (results.map(\.name) + skipped).contains { $0.hasPrefix("sdk/") } }

        /// The cases that there are for it.
        var catalogue: [ConformanceCase] { isWholeSDK ? ConformanceCase.wholeSDK : ConformanceCase.all }

        /// The declared capabilities of which every case was tried, at least one passed and none failed.
        public var verified: [Capability] {
            let outcomes = Dictionary(results.map { ($0.name, $0.outcome) }, uniquingKeysWith: { first, _ in first })
            return capabilities.filter { capability in
                let asking = catalogue.filter { $0.requires.contains(capability) }
                return asking.allSatisfy { outcomes[$0.name].map { !$0.isFailure } ?? false }
                    && asking.contains { outcomes[$0.name] == .passed }
            }
        }

        /// Whether a case that passed rests on a capability that is only inferred of the vendor.
        public func restsOnInference(_ result: CaseResult) -> Bool {
            guard result.outcome == .passed, !evidence.capabilities.isEmpty else { return false }
            return catalogue.first { $0.name == result.name }?.requires.contains(where: evidence.isInferred)
                ?? false
        }

        /// The declared capabilities that no case has shown.
        ///
        /// Only those whose cases were all tried: a run of some cases says nothing of what the others would have shown.
        public var unproven: [Capability] {
            let outcomes = Dictionary(results.map { ($0.name, $0.outcome) }, uniquingKeysWith: { first, _ in first })
            let cases = catalogue
            return capabilities.filter { capability in
                let asking = cases.filter { $0.requires.contains(capability) }
                // What no case asks a whole SDK for can't be shown either.
                if isWholeSDK, asking.isEmpty { return cases.allSatisfy { outcomes[$0.name] != nil } }
                guard !asking.isEmpty, asking.allSatisfy({ outcomes[$0.name] != nil }) else { return false }
                return !asking.contains { outcomes[$0.name] == .passed }
            }
        }
    }

    /// The subjects' parts, in the order in which they were run.
    public var subjects: [Subject]
    /// Which suite it was: cases are only ever added to one of these.
    public var suite = ConformanceCase.suiteVersion
    /// When it was run.
    public var date: Date?
    /// Where it was run: the system and the processor.
    public var platform = ConformanceReport.thisPlatform

    /// Creates a report.
    public init(subjects: [Subject], date: Date? = nil) {
        self.subjects = subjects
        self.date = date
    }

    /// Whether every subject keeps and shows what it declares, and every record of a deviation is still true.
    public var isSuccess: Bool {
        subjects.allSatisfy { subject in
            subject.results.allSatisfy { !$0.outcome.isFailure } && subject.unproven.isEmpty
        }
    }

    /// The words of outcomes, in the order of reports.
    public static let words = ["passed", "failed", "broken", "undeclared", "deviates", "unsupported"]
}

extension ConformanceReport {
    /// The report as a document.
    ///
    /// - Parameter timings: Whether to say when it was run and how long each case took; without them two good runs give the
    ///   same document.
    /// - Returns: The document, as `docs/schemas/conformance-report.schema.json` describes it.
    public func document(timings: Bool = true) -> FlagValue {
        var document: [String: FlagValue] = [
            "schema": "conformance-report/2",
            "success": .bool(isSuccess),
            "suite": .string(suite),
            "platform": .string(platform),
            "promises": .object(
                Dictionary(uniqueKeysWithValues: Promise.texts.map { (String($0.key), .string($0.value)) })
            ),
            "subjects": .array(subjects.map { $0.document(timings: timings) }),
        ]
        if timings, let date { document["date"] = .string(RemoteDate.text(date)) }
        return .object(document)
    }

    /// The report as JSON with sorted keys.
    ///
    /// - Parameter timings: Whether to say how long each case took.
    /// - Returns: The text, in UTF-8.
    /// - Throws: Never, in practice: a report holds nothing that JSON can't.
    public func json(timings: Bool = true) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(document(timings: timings)))
    }
}

extension ConformanceReport.Subject {
    func document(timings: Bool) -> FlagValue {
        var members: [String: FlagValue] = [
            "name": .string(name),
            "capabilities": .array(capabilities.map { .string($0.rawValue) }),
            "counts": .object(counts.mapValues { .int($0) }),
            "verified": .array(verified.map { .string($0.rawValue) }),
            "unproven": .array(unproven.map { .string($0.rawValue) }),
            "evidence": evidence.document,
            "deviations": .array(
                deviations.map { record in
                    var members: [String: FlagValue] = [
                        "case": .string(record.caseName), "reason": .string(record.reason),
                    ]
                    if let link = record.link { members["link"] = .string(link) }
                    return .object(members)
                }
            ),
            "wireFields": .array(wireFields.map(\.rawValue).sorted().map { .string($0) }),
            "wireReasons": .object(
                Dictionary(uniqueKeysWithValues: wireReasons.map { ($0.key.rawValue, .string($0.value)) })
            ),
            "skipped": .array(skipped.map { .string($0) }),
            "cases": .array(
                results.map { $0.document(timings: timings, isInferred: restsOnInference($0)) }
            ),
        ]
        if let version { members["version"] = .string(version) }
        return .object(members)
    }
}

extension CaseResult {
    func document(timings: Bool, isInferred: Bool = false) -> FlagValue {
        var members: [String: FlagValue] = [
            "name": .string(name), "promise": .int(promise), "summary": .string(summary),
            "outcome": .string(outcome.word),
        ]
        if isInferred { members["inferred"] = true }
        if let reason = outcome.reason { members["reason"] = .string(reason) }
        if case .deviates(let record, _) = outcome, let link = record.link { members["link"] = .string(link) }
        if timings { members["milliseconds"] = .double((milliseconds * 10).rounded() / 10) }
        if !outcome.failures.isEmpty {
            members["failures"] = .array(
                outcome.failures.map {
                    ["message": .string($0.message), "file": .string($0.file), "line": .int($0.line)]
                }
            )
            members["story"] = [
                "steps": .array(story.steps.map { .string($0) }),
                "exchanges": .array(story.exchanges.map(\.document)),
            ]
        }
        return .object(members)
    }

    /// How long it took.
    var milliseconds: Double {
        Double(duration.components.seconds) * 1_000 + Double(duration.components.attoseconds) / 1e15
    }
}

extension Exchange {
    /// The written form.
    public var document: FlagValue {
        var members: [String: FlagValue] = [
            "number": .int(number), "purpose": .string(purpose.rawValue), "operation": .string(operation),
            "method": .string(method), "path": .string(path), "bytesIn": .int(bytesIn), "bytesOut": .int(bytesOut),
            "connection": .int(connection),
        ]
        members["status"] = status.map { .int($0) } ?? .null
        if let fault { members["fault"] = .string(fault) }
        if !request.isEmpty { members["request"] = .string(request) }
        if let response { members["response"] = .string(response) }
        return .object(members)
    }
}

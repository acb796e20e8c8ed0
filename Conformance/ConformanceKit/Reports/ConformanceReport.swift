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
        }

        /// The number of cases by outcome word.
        public var counts: [String: Int] {
            Dictionary(results.map { ($0.outcome.word, 1) }, uniquingKeysWith: +)
        }

        /// Whether it was tried as a whole SDK.
        var isWholeSDK: Bool { (results.map(\.name) + skipped).contains { $0.hasPrefix("sdk/") } }

        /// The cases that there are for it.
        var catalogue: [ConformanceCase] {
            if isWholeSDK { return ConformanceCase.wholeSDK }
            return ConformanceCase.all + ConformanceCase.composing + ConformanceCase.moving
        }

        /// The cases that can show a capability: those that are about every such subject.
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
            return catalogue.first { $0.name == result.name }?.requires.contains(where: evidence.isInferred)
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
                // What no case asks a whole SDK for can't be shown either.
                if isWholeSDK, asking.isEmpty { return cases.allSatisfy { outcomes[$0.name] != nil } }
                guard !asking.isEmpty, asking.allSatisfy({ outcomes[$0.name] != nil }) else { return false }
                return !asking.contains { outcomes[$0.name] == .passed }
            }
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
        }
    }

    /// The outcome words, in the order of reports.
    public static let words = ["passed", "failed", "broken", "undeclared", "deviates", "unsupported"]
}

extension ConformanceReport {
    /// The report as a document.
    ///
    /// - Parameter timings: Whether to include the date and the duration of each case; without them, two successful
    ///   runs give the same document.
    /// - Returns: The document, as described by `docs/schemas/conformance-report.schema.json`.
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
        if timings, let date { document["date"] = .string(date.iso8601Milliseconds) }
        return .object(document)
    }

    /// The report as JSON with sorted keys.
    ///
    /// - Parameter timings: Whether to include the date and the duration of each case.
    /// - Returns: The JSON in UTF-8.
    /// - Throws: Never in practice: a report holds nothing that JSON can't represent.
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

    /// The duration in milliseconds.
    var milliseconds: Double {
        Double(duration.components.seconds) * 1_000 + Double(duration.components.attoseconds) / 1e15
    }
}

extension Exchange {
    /// The JSON form.
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

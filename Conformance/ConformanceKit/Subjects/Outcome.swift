import Experimentation

/// The outcome of a case with a subject.
public enum Outcome: Sendable, Hashable {
    /// The promise was kept.
    case passed
    /// The promise wasn't kept.
    case failed([Failure])
    /// The vendor has no equivalent, for this reason.
    case unsupported(String)
    /// The case fails, as a recorded deviation says.
    case deviates(KnownDeviation, [Failure])
    /// The case passes although a deviation is recorded: the record must be removed.
    case outdated(KnownDeviation)
    /// The case passes although the capability isn't declared: the declaration is wrong.
    case undeclared(Capability)

    /// The outcome as a word, for reports.
    public var word: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .unsupported: "unsupported"
        case .deviates: "deviates"
        case .outdated: "broken"
        case .undeclared: "undeclared"
        }
    }

    /// Whether a run with this outcome fails.
    public var isFailure: Bool {
        switch self {
        case .passed, .unsupported, .deviates: false
        case .failed, .outdated, .undeclared: true
        }
    }

    /// Why it isn't ``passed``; `nil` if it is.
    public var reason: String? {
        switch self {
        case .passed: nil
        case .failed(let failures): failures.first?.message
        case .unsupported(let reason): reason
        case .deviates(let record, _): record.reason
        case .outdated(let record): "it passes now, but a record says that it deviates (\(record.reason)); remove it"
        case .undeclared(let capability): "it passes, but \"\(capability)\" isn't declared"
        }
    }

    /// The unmet expectations.
    public var failures: [Failure] {
        switch self {
        case .failed(let failures), .deviates(_, let failures): failures
        default: []
        }
    }
}

/// An unmet expectation and its source location.
public struct Failure: Sendable, Hashable, Codable, CustomStringConvertible {
    /// What was expected, and what was found.
    public var message: String
    /// The file of the expectation.
    public var file: String
    /// The line of the expectation.
    public var line: Int

    /// Creates a failure.
    public init(_ message: String, file: String, line: Int) {
        self.message = message
        self.file = file
        self.line = line
    }

    /// The message and the location.
    public var description: String { "\(message) (\(file):\(line))" }
}

/// What happened while a case ran, for the account of a failure.
public struct Story: Sendable, Hashable, Codable {
    /// The steps, in order.
    public var steps: [String]
    /// The exchanges, with secrets redacted.
    public var exchanges: [Exchange]

    /// Creates a story.
    public init(steps: [String] = [], exchanges: [Exchange] = []) {
        self.steps = steps
        self.exchanges = exchanges
    }
}

/// The result of a case with a subject: its outcome, duration and story.
public struct CaseResult: Sendable, Hashable {
    /// The case's name.
    public var name: String
    /// The line of the contract that the case verifies.
    public var promise: Int
    /// What the case verifies, in a sentence.
    public var summary: String
    /// The outcome.
    public var outcome: Outcome
    /// The duration.
    public var duration: Duration
    /// What happened.
    public var story: Story

    /// Creates a result.
    public init(
        name: String,
        promise: Int,
        summary: String,
        outcome: Outcome,
        duration: Duration,
        story: Story = Story()
    ) {
        self.name = name
        self.promise = promise
        self.summary = summary
        self.outcome = outcome
        self.duration = duration
        self.story = story
    }
}

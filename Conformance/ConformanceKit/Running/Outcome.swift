import Experimentation

/// What came of one case with one subject.
public enum Outcome: Sendable, Hashable {
    /// What was promised was seen.
    case passed
    /// What was promised wasn't seen.
    case failed([Failure])
    /// The vendor has nothing like it, for this reason.
    case unsupported(String)
    /// It fails, and a record says so and why.
    case deviates(KnownDeviation, [Failure])
    /// A record says that it fails, but it passes: the record must go.
    case outdated(KnownDeviation)
    /// It passes although the capability isn't declared: the declaration is wrong.
    case undeclared(Capability)

    /// The outcome in one word, as reports write it.
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

    /// What wasn't seen.
    public var failures: [Failure] {
        switch self {
        case .failed(let failures), .deviates(_, let failures): failures
        default: []
        }
    }
}

/// An expectation that wasn't met, and where it stands.
public struct Failure: Sendable, Hashable, Codable, CustomStringConvertible {
    /// What was expected, and what was seen.
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

    /// The message and the place.
    public var description: String { "\(message) (\(file):\(line))" }
}

/// What happened while a case ran, to be told when it fails.
public struct Story: Sendable, Hashable, Codable {
    /// The steps, in the order in which they were taken.
    public var steps: [String]
    /// The exchanges, secrets redacted.
    public var exchanges: [Exchange]

    /// Creates a story.
    public init(steps: [String] = [], exchanges: [Exchange] = []) {
        self.steps = steps
        self.exchanges = exchanges
    }
}

/// One case with one subject: what came of it, how long it took and what happened.
public struct CaseResult: Sendable, Hashable {
    /// The case's name.
    public var name: String
    /// The line of the contract that the case is about.
    public var promise: Int
    /// What the case shows, in a sentence.
    public var summary: String
    /// What came of it.
    public var outcome: Outcome
    /// How long it took.
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

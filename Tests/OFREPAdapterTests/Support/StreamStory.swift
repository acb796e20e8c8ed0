import AdapterKit
import Experimentation

@testable import OFREPAdapter

/// Two event streams and their state machine, whose clock is moved by hand.
struct StreamStory {
    let start = ContinuousClock.now
    let stream: OFREPStream
    let other: OFREPStream
    var listening = OFREPListening()

    init() throws {
        stream = try Samples.stream("https://events.example.com/a")
        other = try Samples.stream("https://events.example.com/b")
    }
}

/// Tests that tell a story of event streams; times are seconds from its start.
protocol StreamTests {
    var story: StreamStory { get set }
}

extension StreamTests {
    static var lost: ExperimentationError { ExperimentationError(.transport, "lost") }
    static var refused: ExperimentationError { ExperimentationError(.unauthorized, "no") }

    var stream: OFREPStream { story.stream }
    var other: OFREPStream { story.other }
    var listening: OFREPListening { story.listening }

    mutating func take(
        _ input: OFREPListening.Input,
        after seconds: Double,
        jitter: Double = 1
    ) -> [OFREPListening.Effect] {
        story.listening.take(input, at: story.start.advanced(by: .seconds(seconds)), jitter: jitter)
    }

    /// Opens the stream, and requests changes from before its opening.
    mutating func open() {
        _ = take(.announced([stream]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.time, after: 2)
    }

    /// The time until the next timer, from a given moment.
    func wait(from seconds: Double) -> Duration? {
        listening.wake.map { story.start.advanced(by: .seconds(seconds)).duration(to: $0) }
    }
}

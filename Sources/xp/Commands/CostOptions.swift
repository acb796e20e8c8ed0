import ArgumentParser
import ComparisonKit

/// The options of `xp compare` that project monthly cost and traffic growth.
struct CostOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many people use your application in a month.", valueName: "n"))
    var monthlyUsers: Int?

    @Option(help: ArgumentHelp("How many sessions each of them has in the month; 8 by default.", valueName: "n"))
    var sessions: Int?

    @Option(help: ArgumentHelp("How many flags are read in a session; 20 by default.", valueName: "n"))
    var reads: Int?

    @Option(help: ArgumentHelp("How many events are tracked in a session; 10 by default.", valueName: "n"))
    var events: Int?

    @Flag(help: "Measure how traffic grows: 10, 100 and 1,000 flags and events.")
    var growth = false

    /// The month to project, if asked for.
    var usage: Usage? {
        guard let monthlyUsers else { return nil }
        var usage = Usage(monthlyUsers: monthlyUsers)
        usage.sessions = sessions ?? usage.sessions
        usage.reads = reads ?? usage.reads
        usage.events = events ?? usage.events
        return usage
    }

    /// Whether any of these options was given.
    var isAsked: Bool { monthlyUsers != nil || growth }

    func validate() throws {
        try Self.check("--monthly-users", monthlyUsers, in: 1...1_000_000_000)
        try Self.check("--sessions", sessions, in: 1...1_000)
        try Self.check("--reads", reads, in: 0...100_000)
        try Self.check("--events", events, in: 0...1_000)
        for (name, value) in [("--sessions", sessions), ("--reads", reads), ("--events", events)]
        where value != nil && monthlyUsers == nil {
            throw ValidationError("\(name): expected --monthly-users beside it")
        }
    }

    private static func check(_ name: String, _ value: Int?, in range: ClosedRange<Int>) throws {
        guard let value, !range.contains(value) else { return }
        throw ValidationError("\(name): expected a number from \(range.lowerBound) to \(range.upperBound)")
    }
}

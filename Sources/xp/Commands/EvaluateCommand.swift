import ArgumentParser
import ConformanceSubjects
import Experimentation
import Foundation

/// The command `xp evaluate`.
struct EvaluateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Read users and print their decisions, one JSON object per line.",
        discussion: """
            INPUT, one object per line; everything except the id is optional:
              {"user":{"id":"ada","anonymousId":"d-1","attributes":{"plan":"pro"},
               "consent":true},"assignments":{"checkout":"green"}}

            OUTPUT, in the order of the input:
              {"user":…,"decisions":{key:{"value","variant","reason","error",
               "metadata"}},"assignments":[{"experiment","group","variation",
               "isControl"}],"status":…,"error":null}

            An invalid line has an error object in its place; the rest continue, and the exit status is 1.

            EXAMPLES
              echo '{"user":{"id":"ada"}}' | xp evaluate --config flagship.json
              xp evaluate --config sigma.yaml --input users.jsonl > decisions.jsonl
            """
    )

    @Option(help: ArgumentHelp("The vendor and its settings, JSON or YAML.", valueName: "file"))
    var config: String

    @Option(help: ArgumentHelp("The users; - is standard input.", valueName: "file"))
    var input: String = "-"

    @Option(help: ArgumentHelp("The number of users decided for concurrently.", valueName: "n"))
    var width: Int = 64

    func validate() throws {
        guard (1...1024).contains(width) else { throw ValidationError("--width: expected a number from 1 to 1024") }
    }

    func run() async throws {
        let configuration = try Configuration(at: config)
        let lines = try LineReader(input)
        let client = try await configuration.client(store: .inMemory())
        let evaluation = Evaluation(client: client)
        var count = Count()
        // Decides for the users of a block concurrently, then writes the results in input order.
        var isAtEnd = false
        while !isAtEnd {
            var block: [LineReader.Line] = []
            while block.count < width * 4 {
                // Interactive input and slow pipes get each answer at once.
                if !block.isEmpty, await lines.wouldWait { break }
                guard let line = try await lines.next() else {
                    isAtEnd = true
                    break
                }
                block.append(line)
            }
            let results = await evaluation.results(of: block, width: width)
            var text: [UInt8] = []
            for result in results {
                text += result.line
                text.append(UInt8(ascii: "\n"))
                count.add(result)
            }
            try Terminal.write(text)
            Terminal.progress(count.all.of("user", "users") + " decided")
        }
        Terminal.endProgress()
        await client.shutdown(within: .milliseconds(100))
        if count.good == 0, let outage = count.outage {
            throw Failure(.unavailable, "\(configuration.vendor.name) \(outage)")
        }
        if count.good < count.all {
            let undecided = (count.all - count.good).ofLines(count.all)
            throw Failure(.checkFailed, "\(undecided) not decided; the output says why")
        }
    }

    private struct Count {
        var all = 0
        var good = 0
        /// What was wrong with the vendor when it first didn't answer.
        var outage: String?

        mutating func add(_ result: Evaluation.Result) {
            all += 1
            guard let error = result.error else {
                good += 1
                return
            }
            guard outage == nil, error.isWithoutAnswer, !result.isUnreadable else { return }
            switch error {
            case .unauthorized: outage = "refuses the credentials"
            case .vendorFault: outage = "answers with errors"
            case .parseError: outage = "answers with what can't be read"
            default: outage = "can't be reached"
            }
        }
    }
}

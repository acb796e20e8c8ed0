import ArgumentParser
import ConformanceSubjects
import Experimentation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The command line; only parses arguments and prints.
@main
struct XP: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "xp",
        abstract: "Compare experimentation vendors, check their adapters, and use them from a shell.",
        discussion: """
            EXAMPLES
              xp compare                             the checkout, with every vendor
              xp compare --from sigma --to flagship  what would change
              xp compare --format html --output r.html
                                                     a page to share
              xp mock flagship --port 8081           a mock to point an app at
              echo '{"user":{"id":"ada"}}' | xp evaluate --config flagship.json
              xp track --config flagship.json --input events.jsonl --store outbox.db

            EXIT STATUS
              0   success
              1   a check failed, or a line of input was malformed
              64  the command was used wrongly
              66  an input file can't be read or understood
              69  the vendor can't be reached, refuses the credentials or fails,
                  or a port is in use
              129, 130, 143
                  SIGHUP, SIGINT or SIGTERM ended the command

            Everything is described in docs/command-line.md.
            """,
        version: "0.1.0",
        subcommands: [
            VendorsCommand.self, CompareCommand.self, ConformCommand.self, MockCommand.self, EvaluateCommand.self,
            TrackCommand.self, OutboxCommand.self, FlagsCommand.self, MigrateCommand.self,
        ]
    )

    static func main() async {
        // A closed pipe is then reported as a write error instead of killing the process.
        signal(SIGPIPE, SIG_IGN)
        Terminal.keepPlaces()
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            failure.report()
        } catch let error as ExperimentationError {
            Failure(error).report()
        } catch  where exitCode(for: error) == .validationFailure {
            let message = fullMessage(for: error)
            Terminal.say("xp: " + message.trimming(prefix: "Error: "))
            Failure.exit(.usage)
        } catch {
            exit(withError: error)
        }
    }
}

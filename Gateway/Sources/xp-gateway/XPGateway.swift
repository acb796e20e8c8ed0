import Experimentation
import ExperimentationTelemetry
import Foundation
import GatewayServer
import Logging
import ServiceLifecycle
import UnixSignals

/// The gateway's command-line program.
@main
enum XPGateway {
    static func main() async {
        do {
            switch try Arguments(Array(CommandLine.arguments.dropFirst())) {
            case .help: Output.print(Arguments.text)
            case .settings:
                Output.print("\(SettingReference.gateway)\n\nAfter `tenants.NAME.`:\n\n\(SettingReference.tenant)\n")
            case .demonstration: try await demonstrate()
            case .file(let path): try await serve(path)
            }
        } catch let error as Arguments.Unknown {
            Output.say("xp-gateway: \(error.message)\n\n\(Arguments.text)")
            exit(64)
        } catch let error as ExperimentationError {
            Output.say("xp-gateway: \(error.message)")
            exit(error.code == .configuration ? 66 : 1)
        } catch {
            Output.say("xp-gateway: \(error)")
            exit(1)
        }
    }

    /// The log of everything in this process, on standard error.
    private static func logger(from level: Logger.Level) -> Logger {
        var logger = Logger(label: "xp-gateway") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        return logger
    }

    private static func demonstrate() async throws {
        let demonstration = try await Demonstration()
        let logger = logger(from: demonstration.configuration.logLevel)
        let gateway = try await Gateway(
            demonstration.configuration,
            environment: ClientEnvironment(log: .logger(logger))
        )
        try await run(
            [demonstration] + gateway.services(logger: logger) { demonstration.announce($0) },
            patience: demonstration.configuration.patience,
            logger
        )
    }

    private static func serve(_ path: String) async throws {
        // Trapped before anything is opened, because without a handler the signal ends the process.
        let hangUps = await UnixSignalsSequence(trapping: .sighup)
        let file = ConfigurationFile(path: path)
        let configuration = try await file.read()
        let logger = logger(from: configuration.logLevel)
        let gateway = try await Gateway(configuration, environment: ClientEnvironment(log: .logger(logger)))
        let services = gateway.services(logger: logger) { address in
            let tenants = configuration.tenants.map { "\"\($0.name)\"" }.joined(separator: ",")
            Output.print("{\"tenants\":[\(tenants)],\"url\":\"\(address)\"}\n")
        }
        try await run(
            services + [Reloading(file: file, gateway: gateway, hangUps: hangUps)],
            patience: configuration.drain + configuration.patience,
            logger
        )
    }

    private static func run(_ services: [any Service], patience: Duration, _ logger: Logger) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // Requests that clients don't finish sending are cut off after this time.
        configuration.maximumGracefulShutdownDuration = patience
        try await ServiceGroup(configuration: configuration).run()
    }
}

/// Reloads the configuration on SIGHUP; an invalid one changes nothing.
private struct Reloading: Service {
    let file: ConfigurationFile
    let gateway: Gateway
    let hangUps: UnixSignalsSequence

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in hangUps {
                do throws(ExperimentationError) {
                    try await gateway.reload(try await file.read())
                    Output.say("xp-gateway: tenants and certificate were read again; other settings need a restart")
                } catch {
                    Output.say("xp-gateway: nothing was changed: \(error.message)")
                }
            }
        }
    }
}

/// The command-line arguments.
enum Arguments: Equatable {
    case help
    case settings
    case demonstration
    case file(String)

    /// An invalid argument.
    struct Unknown: Error {
        let message: String
    }

    init(_ arguments: [String]) throws(Unknown) {
        switch arguments.first {
        case nil: self = .demonstration
        case "--help", "-h": self = .help
        case "--settings": self = .settings
        case "--config":
            guard arguments.count == 2 else { throw Unknown(message: "--config: expected a file") }
            self = .file(arguments[1])
        case let other?: throw Unknown(message: "unknown argument \"\(other)\"")
        }
    }

    static let text = """
        OVERVIEW: Serve OpenFeature's remote evaluation protocol over any of the vendors.

        Without a configuration it serves a demonstration on loopback: the shop of the default scenario at a mock of \
        Flagship, evaluated here. The first line on standard output is JSON: the address, and for the demonstration the \
        tenant and its token.

        USAGE: xp-gateway [--config FILE | --settings]

          --config FILE   tenants, address and limits, as docs/gateway.md has them; read again on SIGHUP
          --settings      the keys of such a file, with their defaults
          --help          this text

        """
}

/// The output streams.
enum Output {
    /// Writes to standard output.
    static func print(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    /// Writes a line for people to standard error.
    static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}

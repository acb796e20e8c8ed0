import ConformanceKit
import Experimentation
import Foundation
import MockVendors

/// Why a command ends, in one line and with its exit status.
struct Failure: Error {
    /// The exit statuses.
    enum Status: Int32 {
        case checkFailed = 1
        case usage = 64
        case input = 66
        case unavailable = 69
    }

    let status: Status
    let message: String

    init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }

    /// An input that can't be used.
    init(_ error: DocumentError) { self.init(.input, error.description) }

    /// A port that can't be had.
    init(_ error: MockServerError) { self.init(.unavailable, error.description) }

    /// An error of the library, by its code.
    init(_ error: ExperimentationError) {
        switch error.code {
        case .configuration, .store: self.init(.input, error.message)
        case .transport, .timeout, .unauthorized: self.init(.unavailable, error.description)
        default: self.init(.checkFailed, error.description)
        }
    }

    /// Writes the line and ends the process.
    func report() -> Never {
        Terminal.say("xp: " + message.split(whereSeparator: \.isNewline).joined(separator: " "))
        Self.exit(status)
    }

    /// Ends the process without a word.
    static func exit(_ status: Status) -> Never { Foundation.exit(status.rawValue) }
}

import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `make compare`: the checkout with every vendor, as `xp compare` without options shows it.
///
/// It is a program of its own because it needs neither a durable store nor a parser of arguments and YAML, and builds
/// in two thirds of the time that `xp` takes.
@main
struct CompareVendors {
    static func main() async {
        guard CommandLine.arguments.count == 1 else {
            fail("expected no arguments; see swift run xp compare --help for a comparison with options", status: 64)
        }
        // A mock that closes its connection must not end the process.
        signal(SIGPIPE, SIG_IGN)
        let runner = ComparisonRunner(pace: .together)
        let comparison = await runner.run(.checkout, with: Vendor.all.compactMap(\.subjects.first)).withoutTimings
        let text = ComparisonReport(comparison).text(as: .text, isColored: isColored)
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        } catch {
            fail("standard output can't be written")
        }
        let failures = comparison.vendors.compactMap { story in story.failure.map { "\(story.name): \($0)" } }
        if !failures.isEmpty { fail(failures.joined(separator: "; ")) }
    }

    private static func fail(_ reason: String, status: Int32 = 1) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("compare-vendors: \(reason)\n".utf8))
        exit(status)
    }

    private static var isColored: Bool {
        let environment = ProcessInfo.processInfo.environment
        return isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb" && (environment["NO_COLOR"] ?? "").isEmpty
    }
}

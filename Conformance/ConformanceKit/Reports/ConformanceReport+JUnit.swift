import Experimentation

extension ConformanceReport {
    /// The report as JUnit XML: a test suite per subject; unsupported cases and deviations are skipped, with the
    /// reason.
    public func junit() -> String {
        let all = subjects.flatMap(\.results)
        let time = Self.shortened(all.reduce(0) { $0 + $1.milliseconds } / 1_000)
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<testsuites name=\"conformance\" tests=\"\(subjects.reduce(0) { $0 + $1.testCount })\""
                + " failures=\"\(subjects.reduce(0) { $0 + $1.failureCount })\""
                + " errors=\"0\" skipped=\"\(all.count { $0.outcome.isSkip })\" time=\"\(time)\">",
        ]
        for subject in subjects {
            let skipped = subject.results.count { $0.outcome.isSkip }
            let seconds = subject.results.reduce(0) { $0 + $1.milliseconds } / 1_000
            lines.append(
                "  <testsuite name=\"\(subject.name.escaped)\" tests=\"\(subject.testCount)\""
                    + " failures=\"\(subject.failureCount)\" errors=\"0\" skipped=\"\(skipped)\" time=\"\(Self.shortened(seconds))\">"
            )
            lines.append("    <properties>")
            let declared = subject.capabilities.map(\.rawValue).joined(separator: ", ")
            let inferred = subject.capabilities.filter(subject.evidence.isInferred).map(\.rawValue)
            for (name, value) in [
                ("suite", suite), ("platform", platform), ("version", subject.version ?? ""), ("declared", declared),
                ("inferred", inferred.joined(separator: ", ")),
            ] where !value.isEmpty {
                lines.append("      <property name=\"\(name)\" value=\"\(value.escaped)\"/>")
            }
            lines.append("    </properties>")
            for result in subject.results {
                let head =
                    "    <testcase classname=\"\(subject.name.escaped)\" name=\"\(result.name.escaped)\""
                    + " time=\"\(Self.shortened(result.milliseconds / 1_000))\""
                let reason = (result.outcome.explanation ?? "").escaped
                if result.outcome.isFailure {
                    lines.append(head + ">")
                    lines.append("      <failure type=\"\(result.outcome.word)\" message=\"\(reason)\">")
                    lines.append(result.storyLines.joined(separator: "\n").escaped)
                    lines.append("      </failure>")
                    lines.append("    </testcase>")
                } else if result.outcome.isSkip {
                    lines.append(head + "><skipped message=\"\(result.outcome.word): \(reason)\"/></testcase>")
                } else {
                    lines.append(head + "/>")
                }
            }
            for capability in subject.unproven {
                let name = "declared/\(capability)".escaped
                lines.append("    <testcase classname=\"\(subject.name.escaped)\" name=\"\(name)\" time=\"0.0\">")
                lines.append("      <failure type=\"unproven\" message=\"it is declared, but shown by no case\"/>")
                lines.append("    </testcase>")
            }
            lines.append("  </testsuite>")
        }
        lines.append("</testsuites>")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func shortened(_ seconds: Double) -> String {
        String((seconds * 1_000).rounded() / 1_000)
    }
}

extension ConformanceReport.Subject {
    /// The number of cases and of declared capabilities that no case has verified.
    fileprivate var testCount: Int { results.count + unproven.count }

    /// The number of failures among them.
    fileprivate var failureCount: Int { results.count { $0.outcome.isFailure } + unproven.count }
}

extension Outcome {
    /// Whether JUnit reports it as skipped.
    fileprivate var isSkip: Bool {
        switch self {
        case .unsupported, .deviates: true
        default: false
        }
    }
}

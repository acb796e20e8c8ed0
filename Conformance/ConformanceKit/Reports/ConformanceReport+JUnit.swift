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
                + " errors=\"0\" skipped=\"\(subjects.reduce(0) { $0 + $1.skipCount })\" time=\"\(time)\">",
        ]
        for subject in subjects {
            let seconds = subject.results.reduce(0) { $0 + $1.milliseconds } / 1_000
            lines.append(
                "  <testsuite name=\"\(subject.name.escaped)\" tests=\"\(subject.testCount)\""
                    + " failures=\"\(subject.failureCount)\" errors=\"0\" skipped=\"\(subject.skipCount)\" time=\"\(Self.shortened(seconds))\">"
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
            for name in subject.skipped {
                lines.append(Self.idle(name, of: subject, "<skipped message=\"left out on request\"/>"))
            }
            for capability in subject.unproven {
                let failure = "<failure type=\"unproven\" message=\"it is declared, but shown by no case\"/>"
                lines.append(Self.idle("declared/\(capability)", of: subject, failure))
            }
            for record in subject.idleDeviations {
                let message = "it is recorded as a deviation, but no such case was tried (\(record.reason))".escaped
                lines.append(
                    Self.idle(
                        "deviates/\(record.caseName)",
                        of: subject,
                        "<failure type=\"broken\" message=\"\(message)\"/>"
                    )
                )
            }
            lines.append("  </testsuite>")
        }
        lines.append("</testsuites>")
        return lines.joined(separator: "\n") + "\n"
    }

    /// An entry that isn't a case that ran.
    private static func idle(_ name: String, of subject: Subject, _ outcome: String) -> String {
        "    <testcase classname=\"\(subject.name.escaped)\" name=\"\(name.escaped)\" time=\"0.0\">\(outcome)</testcase>"
    }

    private static func shortened(_ seconds: Double) -> String {
        String((seconds * 1_000).rounded() / 1_000)
    }
}

extension ConformanceReport.Subject {
    /// The number of cases, of declared capabilities that no case has verified, and of records that no case was tried
    /// for.
    fileprivate var testCount: Int { results.count + skipped.count + unproven.count + idleDeviations.count }

    /// The number of failures among them.
    fileprivate var failureCount: Int {
        results.count { $0.outcome.isFailure } + unproven.count + idleDeviations.count
    }

    /// The number of cases among them that are unsupported, deviate or were left out.
    fileprivate var skipCount: Int { results.count { $0.outcome.isSkip } + skipped.count }
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

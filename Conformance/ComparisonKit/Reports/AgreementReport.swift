import Experimentation
import Foundation

/// An agreement as a document, in one of four formats.
public struct AgreementReport: Sendable {
    private let agreement: Agreement

    /// Creates a report.
    public init(_ agreement: Agreement) { self.agreement = agreement }

    /// Formats the report.
    ///
    /// - Parameters:
    ///   - format: The format.
    ///   - isColored: Whether text may contain terminal color escapes.
    /// - Returns: The document, ending with a line feed.
    public func text(as format: ComparisonReport.Format, isColored: Bool = false) -> String {
        switch format {
        case .text: AgreementText(WrittenForm.of(agreement, as: OneLine.of), Palette(isOn: isColored)).text
        case .markdown: AgreementMarkdown(WrittenForm.of(agreement, as: MarkdownText.of)).text
        case .json: WrittenForm.json(Document(agreement: agreement))
        case .html: AgreementHTML(agreement).text
        }
    }

    private struct Document: Encodable {
        var agreement: Agreement
    }
}

/// The figures of an agreement as text, shared by all formats.
struct AgreementRows {
    let agreement: Agreement

    /// The summary at the top.
    var summary: [String] {
        var parts = ["\(Wording.count(agreement.users)) users were decided for by both."]
        if agreement.heldOutBefore + agreement.heldOutAfter > 0 {
            parts.append(
                "Kept out of experiments: \(Wording.count(agreement.heldOutBefore)) by \(agreement.from), "
                    + "\(Wording.count(agreement.heldOutAfter)) by \(agreement.to)."
            )
        }
        if agreement.unanswered > 0 {
            parts.append("\(Wording.count(agreement.unanswered)) got no answer from one of the two.")
        }
        if agreement.unreadable > 0 { parts.append("\(Wording.count(agreement.unreadable)) lines were no users.") }
        parts.append(
            agreement.keepsAssignments
                ? "\(agreement.to) takes assignments over." : "\(agreement.to) takes no assignments over."
        )
        return parts
    }

    /// An experiment in one sentence.
    func sentence(_ experiment: Agreement.Experiment) -> String {
        var parts = [
            "\(Wording.count(experiment.users)) users are in it",
            "\(Wording.percent(experiment.share)) would change with nothing done",
            "\(Wording.percent(experiment.shareImported)) with assignments handed over",
        ]
        if experiment.joined > 0 { parts.append("\(Wording.count(experiment.joined)) come in") }
        return parts.joined(separator: ", ")
    }

    /// The matrix: a header of the variations after, and a row for each before.
    func matrix(_ experiment: Agreement.Experiment, isImported: Bool) -> [[String]] {
        let cells = isImported ? experiment.imported : experiment.matrix
        let head = ["\(Self.short(agreement.from)) ↓ / \(Self.short(agreement.to)) →"] + experiment.after + ["outside"]
        return [head]
            + cells.enumerated().map { row, counts in
                [row < experiment.before.count ? experiment.before[row] : "outside"] + counts.map(Wording.count)
            }
    }

    /// A name that fits into a table's corner; a file's without its folders.
    private static func short(_ name: String) -> String {
        TextLayout.cut(name.split(separator: "/").last.map(String.init) ?? name, to: TextReport.longestName)
    }

    /// The captions of the two matrices.
    static func caption(isImported: Bool) -> String {
        isImported ? "With assignments handed over" : "With nothing done"
    }

    static let ratioHead = ["allocation", "counted", "expected", "χ²", "p", verdict]

    /// The ratio tests of the allocations.
    func ratios(_ experiment: Agreement.Experiment) -> [[String]] {
        [
            (agreement.from, experiment.ratioBefore, experiment.isTooFewBefore),
            (agreement.to, experiment.ratioAfter, experiment.isTooFewAfter),
            ("\(agreement.to), handed over", experiment.ratioImported, experiment.isTooFewImported),
        ].compactMap { name, test, isTooFew in
            if let test { return [name] + Self.cells(test) }
            return isTooFew ? [name, "–", "–", "–", "–", Self.tooFew] : nil
        }
    }

    private static let verdict = "verdict"
    private static let tooFew = "too few to tell"

    static let exposureHead = ["while", "seen", "arrived", "lost", "repeated", "p", verdict]

    /// The exposures that arrived, by vendor and experiment.
    var exposures: [(title: String, problem: String?, rows: [[String]])] {
        var groups: [(title: String, problem: String?, rows: [[String]])] = []
        for ratio in agreement.exposures {
            let title = ratio.problem == nil ? "\(ratio.vendor), \(ratio.experiment)" : ratio.vendor
            let index =
                groups.firstIndex { $0.title == title && $0.problem == ratio.problem }
                ?? {
                    groups.append((title, ratio.problem, []))
                    return groups.count - 1
                }()
            guard ratio.problem == nil else { continue }
            groups[index].rows.append([
                ratio.profile.title, Self.list(ratio.seen), Self.list(ratio.arrived), Wording.count(ratio.lost),
                Wording.count(ratio.repeated), ratio.ratio.map { Wording.probability($0.p) } ?? "–",
                ratio.ratio.map(Self.verdict) ?? (ratio.isTooFew ? Self.tooFew : "–"),
            ])
        }
        return groups
    }

    private static func cells(_ test: RatioTest) -> [String] {
        [
            list(test.observed), test.expected.map(Wording.expected).joined(separator: " : "),
            Wording.milliseconds(test.statistic),
            Wording.probability(test.p), verdict(test),
        ]
    }

    private static func list(_ counts: [Int]) -> String { counts.map(Wording.count).joined(separator: " : ") }

    private static func verdict(_ test: RatioTest) -> String { test.isSuspect ? "off" : "fits" }

    /// How the variations were paired, if that needs checking.
    func doubt(_ experiment: Agreement.Experiment) -> String? {
        experiment.pairedBy == .order
            ? "The variations were paired by control and order: say it with --pairs if that is wrong" : nil
    }
}

extension Agreement.Advice {
    /// The advice as a heading.
    var title: String {
        switch self {
        case .finishFirst: "finish first"
        case .importFirst: "hand over first"
        case .carryOn: "carries on"
        case .starts: "begins"
        case .nobody: "unknown"
        }
    }
}

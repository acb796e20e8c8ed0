import ConformanceKit
import Experimentation

/// How the adapters' declarations are known, as text.
enum EvidenceWording {
    /// The legend of the matrix.
    static var legend: String { Evidence.legend + "; the evidence for each vendor's ticks:" }

    /// A line per vendor with the provenance of its capabilities, its mock's rules and its samples.
    static func lines(of comparison: Comparison) -> [String] {
        comparison.vendors.filter { $0.evidence != Evidence() }.map { vendor in
            "\(vendor.name): \(parts(of: vendor).joined(separator: "; "))"
        }
    }

    private static func parts(of vendor: VendorStory) -> [String] {
        let evidence = vendor.evidence
        let known = Provenance.allCases.compactMap { way -> String? in
            let these = vendor.capabilities.filter { evidence.provenance(of: $0) == way }
            return these.isEmpty ? nil : "\(way.rawValue): \(these.map(\.rawValue).joined(separator: ", "))"
        }
        let rules = evidence.counts.filter { $0.rules > 0 }.map { "\($0.rules) \($0.provenance.rawValue)" }
        let samples = evidence.counts.filter { $0.fixtures > 0 }.map { "\($0.fixtures) \($0.provenance.rawValue)" }
        return known
            + (rules.isEmpty ? [] : ["rules of its mock: \(rules.joined(separator: ", "))"])
            + (samples.isEmpty ? [] : ["samples: \(samples.joined(separator: ", "))"])
    }
}

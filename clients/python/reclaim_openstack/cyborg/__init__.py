"""The driver reclaim_nvme of a cyborg-agent: reports the drives that Reclaim's worker cleans."""
